package engine

import (
	"log/slog"
	"sync"
	"sync/atomic"
)

// tooMany is how many live timers are fine; from the next on one warning is
// logged per process. As in Netty.
const tooMany = 64

var (
	live       atomic.Int64 // timers made and neither stopped nor collected
	warnedOnce sync.Once
)

// countInstance counts a new timer, and warns if there are suspiciously many.
func countInstance(warn func(message string, attrs ...any)) {
	if n := live.Add(1); n > tooMany {
		warnedOnce.Do(func() {
			warn("hwt: many timers are alive; a timer is made to be shared, and each has a goroutine of its own",
				slog.Int64("live", n))
		})
	}
}

// abandon is the cleanup of a Handle that was collected. Nothing is pending,
// since a pending timeout would have kept the handle alive; so the worker is
// parked, and all there is to do is to let it end.
//
// It runs on a goroutine of the runtime's, and must not touch the channels of a
// synctest bubble, which would be fatal. There the worker stays, and the bubble
// reports it when its test ends.
func (c *Core) abandon() {
	switch {
	case c.phase.Load() == stopped: // as it should be
	case c.phase.Load() == unstarted || c.bubbled:
		live.Add(-1)
	default:
		c.shut()
		close(c.taken) // by nobody: there is nothing to take
	}
}
