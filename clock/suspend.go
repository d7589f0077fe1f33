package clock

import (
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// Ground rules
//
// The deadlines of an engine are on the monotonic clock. That clock stops while the machine is
// suspended. With Options.CountSuspension, the due times of timers and tickers are on the boot
// clock, which does not stop. When the machine wakes, the kernel reports a step of the wall
// clock, and each pending timeout is reset to the rest of the delay. A timeout that is created
// between the waking and the report already has the right delay, as the due time tells.

// suspension counts the time for which the machine was suspended.
type suspension struct {
	engine hwt.Engine           // Immutable.
	read   func() time.Duration // Reads the boot clock. Immutable.
	start  time.Duration        // The boot clock at the start of the clock. Immutable.

	mu      sync.Mutex
	counted time.Duration // The suspension that the timeouts have counted. Guarded by mu.
}

// leastSuspension is more than two readings of clocks differ by on a running machine.
const leastSuspension = time.Second / 10

// countSuspension makes c count suspension until its timer stops.
func (c *Clock) countSuspension() error {
	const setting, off = "CountSuspension", "false"
	engine, ok := c.timer.(hwt.Engine)
	stopped, known := enginekit.Ended(c.timer)
	if !ok || !known {
		return check.Invalid("clock", setting, true, off+" on a timer that is not an engine of this module")
	}
	if c.bubble.Inside() {
		return nil // Its clocks do not stop.
	}
	if _, ok := bootTime(); !ok {
		return check.Invalid("clock", setting, true, off+" on this system, which has no clock that runs while it is suspended")
	}
	c.follow(engine, func() time.Duration { now, _ := bootTime(); return now })
	if watchSteps(stopped, c.wake) == nil {
		return check.Invalid("clock", setting, true, off+" on this kernel, which does not report when it wakes")
	}
	return nil
}

// follow makes the due times of c follow a boot clock.
func (c *Clock) follow(engine hwt.Engine, read func() time.Duration) {
	c.suspension = &suspension{engine: engine, read: read, start: read() - c.elapsed()}
}

// now returns the time since New on the boot clock.
func (s *suspension) now() time.Duration { return s.read() - s.start }

// wake resets the timeouts if the machine was suspended.
func (c *Clock) wake() {
	s := c.suspension
	s.mu.Lock()
	defer s.mu.Unlock()
	slept := s.now() - c.elapsed() - s.counted
	if slept < leastSuspension {
		return // The wall clock was set.
	}
	s.counted += slept
	for timeout := range s.engine.All() {
		switch task := timeout.Task().(type) {
		case *timerTask:
			(*Timer)(task).recount(c)
		case *groupTask:
			(*tickerGroup)(task).recount(c)
		case *contextTask:
			(*deadlineCtx)(task).recount(c, timeout, slept)
		}
	}
}

// recount resets the timeout of t to the rest of its delay.
func (t *Timer) recount(c *Clock) {
	if t.clock != c {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timeout != nil {
		t.timeout.Reset(t.due - c.now())
	}
}

// recount resets the timeout of g to the rest of the delay of its front.
func (g *tickerGroup) recount(c *Clock) {
	if g.clock != c {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed && !g.firing {
		g.arm()
	}
}

// recount resets the timeout of x to the rest of the delay: the delay of timeout, which counts
// the earlier suspensions, less this suspension, but not before the deadline on the wall clock.
// That deadline tells whether x was created before the suspension.
func (x *deadlineCtx) recount(c *Clock, timeout hwt.Timeout, slept time.Duration) {
	if x.clock != c {
		return
	}
	onWall := x.deadline.Round(0).Sub(c.present().Round(0))
	timeout.Reset(max(time.Until(timeout.Deadline())-slept+time.Millisecond, onWall))
}
