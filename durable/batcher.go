package durable

import (
	"context"
	"time"
)

// gather is the time for which claims and outcomes are gathered into one transaction.
const gather = 40 * time.Millisecond

// maxPause bounds the pause after calls of the database that failed.
const maxPause = 2 * time.Second

// batcher calls flush periodically. Claims and outcomes have one batcher each, so that
// outcomes that are slow or fail delay no claim. Both flush at the same moments: a backend may put
// the two into one transaction.
type batcher struct {
	wake  chan struct{}
	flush func(context.Context) (more, ok bool)
}

// run flushes until ctx ends.
func (b *batcher) run(ctx context.Context) {
	tick := time.NewTicker(gather)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-b.wake:
		}
		pause := gather
		for more := true; more; {
			var ok bool
			if more, ok = b.flush(ctx); ok {
				pause = gather
				continue
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, maxPause)
			more = true
		}
	}
}

// takeFirst removes up to n rows from the front of a list. The two share no memory that
// either writes.
func takeFirst(list *[]*flight, n int) []*flight {
	n = min(n, len(*list))
	first := (*list)[:n:n]
	if *list = (*list)[n:]; len(*list) == 0 {
		*list = nil
	}
	return first
}
