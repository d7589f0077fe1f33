package engine

import (
	"time"

	"github.com/hashedwheel/hwt/internal/engine/store"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// Ground rules
//
// A tick is what batches work under load. A timeout that shares its tick with few others
// need not wait for the end of the tick. The worker sleeps until the deadline and takes the
// timeout out of its bucket. The wheel stays at its tick.
//
//	X1. The worker takes timeouts early only from the tick after the current one, and
//	    only timeouts that are due by the clock. All that are due by the clock are
//	    there, because the current tick has expired.
//	X2. The worker does so at most once per earlyEvery, and earlyBurst times at once.
//	    Without credit, timeouts wait for the end of their tick. Without X2, a task
//	    that schedules itself without delay would occupy a processor.

const (
	// The timeouts of a tick are few if there is one per fewEvery or less, or minFew. The
	// worker reads the words of all of them when it falls asleep.
	fewEvery = time.Millisecond
	minFew   = 8
	maxFew   = 128

	earlyEvery = time.Millisecond
	earlyBurst = 100
)

// early finds the few timeouts of a tick, and bounds how often they are taken early.
// Guarded by Core.mu.
type early struct {
	fullAt int64         // when there is credit for earlyBurst again (X2)
	nodes  []*store.Node // scratch space for each
}

// allowed reports whether there is credit.
func (e *early) allowed(now int64) bool {
	return e.fullAt-now <= (earlyBurst-1)*int64(earlyEvery)
}

// spend takes credit for one collection.
func (e *early) spend(now int64) { e.fullAt = max(e.fullAt, now) + int64(earlyEvery) }

// each calls see for the timeouts that wait in w for tick, which Next returned, and have
// not ended, if they are few. Otherwise it returns false.
func (e *early) each(w Wheel, tick, tickDur int64, see func(*store.Node, enginekit.Word)) (few bool) {
	limit := min(max(tickDur/int64(fewEvery), minFew), maxFew)
	e.nodes, few = w.Peek(tick, int(limit), e.nodes[:0])
	if few {
		for _, n := range e.nodes {
			if word := timeoutOf(n).state.load(); !word.HasEnded() {
				see(n, word)
			}
		}
	}
	clear(e.nodes)
	return few
}
