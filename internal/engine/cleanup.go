package engine

import (
	"sync/atomic"

	"github.com/hashedwheel/hwt/internal/enginekit"
)

// maxTimers is the largest number of live timers without a warning, as in Netty. The next one causes
// the warning, once per process.
const maxTimers = 64

var (
	live   atomic.Int64 // timers made and neither stopped nor collected
	warned atomic.Bool  // Atomic: set before the warning, since a log handler may make a timer.
)

// countInstance counts a new timer, and warns if there are suspiciously many.
func countInstance(warn func(message string, attrs ...any)) {
	if n := live.Add(1); n > maxTimers && warned.CompareAndSwap(false, true) {
		warn("hwt: many timers are alive; share one, and stop unused ones", enginekit.AttrLive, n)
	}
}

// abandon is the cleanup of a Handle that was collected without Stop. Nothing is pending,
// since a pending timeout would have kept the handle alive; so the workers are parked, and
// abandon only has to let them end.
//
// abandon runs on a goroutine of the runtime, and must not touch the channels of a synctest
// bubble: the runtime would end the process. In a bubble the workers stay, and the bubble
// reports them at the end of the test.
func abandon(cores []*Core) {
	if cores[0].intake.phase.Load() == stopped { // Stop came in time
		return
	}
	live.Add(-1)
	for _, c := range cores {
		if c.intake.phase.Load() != unstarted && !c.env.clock.Inside() {
			c.worker.shut()
			close(c.worker.takenOver) // there is nothing to take
		}
	}
}
