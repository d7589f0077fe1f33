package soak

import (
	"context"
	"runtime"
	"time"
)

// The load of a reset round, by all callers.
const (
	farTimeouts = 400_000        // that are reset over and over
	farDelay    = 30 * time.Hour // beyond the round
	probes      = 64             // timeouts of each caller that are reset to much earlier
	probeDelay  = 5 * time.Millisecond
	probeEvery  = 1 << 16 // resets: time in which the worker takes new timeouts over
	plain       = 1001    // an entry's kind: it injects no fault and is not noticed
)

// resetWork is to reset far timeouts to earlier as fast as possible, which the
// worker has to drain. Meanwhile other timeouts are reset to much earlier, and must
// not wait for the far ones.
type resetWork struct {
	entries
	share int // the number of callers
}

// call implements work. Some callers rest, so that the worker has a processor.
func (c *resetWork) call(ctx context.Context, number int) (operations int64) {
	busy := min(c.share, max(runtime.GOMAXPROCS(0)/2, 1))
	if number >= busy {
		return 0
	}
	var far []*entry
	for range farTimeouts / busy {
		if e := c.schedule(plain, nil, farDelay); e != nil {
			far = append(far, e)
		}
	}
	var mine [probes]probe
	for ; ctx.Err() == nil && len(far) > 0; operations++ { // each a microsecond earlier than the one before
		far[int(operations)%len(far)].timeout.Reset(farDelay - time.Duration(operations)*time.Microsecond)
		if operations%probeEvery == 0 {
			for i := range mine {
				mine[i].advance(&c.entries)
			}
		}
	}
	return operations
}

// probe is a timeout that is scheduled far away, reset to earlier once the worker
// has it in its wheel, and scheduled again when it has fired.
type probe struct {
	*entry
	reset bool
}

func (p *probe) advance(all *entries) {
	switch {
	case p.entry == nil || p.timeout.IsExpired():
		*p = probe{entry: all.schedule(plain, nil, farDelay)}
	case !p.reset:
		p.reset = true
		p.entry.reset(probeDelay)
	}
}
