package clock

import (
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
)

// Ground rules
//
//	T1. A timer that is active has a timeout, one that is not has none. What
//	    fires compares its own timeout with the timer's under mu: so a timeout
//	    that came due and lost the race for mu to a Stop or Reset fires nothing.
//	T2. The channel has room for one value and is sent to only under mu, so the
//	    send never blocks, and Stop and Reset, which take out under mu what was
//	    not received, leave nothing stale.
//	T3. mu is never held while users' code runs. The timer's worker waits for it
//	    no longer than a call of NewTimeout takes.

// Timer is a time.Timer on a Clock. Make one with NewTimer or AfterFunc. Its
// methods are safe for concurrent use, take constant time and do not block.
type Timer struct {
	C <-chan time.Time // Tells when the timer was due. Nil for one of AfterFunc.

	c     chan time.Time // C, to send to. Immutable.
	f     func()         // of AfterFunc. Immutable.
	clock *Clock         // Immutable.

	mu      sync.Mutex
	due     time.Duration // Guarded by mu.
	timeout hwt.Timeout   // Nil unless active (T1). Guarded by mu.
}

// AfterFunc calls f once, on a goroutine of its own, d from now or up to a tick
// later. Stop prevents the call. A d of zero or less is due at the next tick.
//
// f may panic: that is reported, and ends nothing but f. See WithErrorHandler,
// and WithFuncsOnTimer for where f runs. A nil f panics here.
//
// It takes two allocations: 64 bytes, and what the timer needs, 48.
func (c *Clock) AfterFunc(d time.Duration, f func()) *Timer {
	if f == nil {
		panic("clock: AfterFunc: f is nil (expected: a function)")
	}
	t := &Timer{f: f, clock: c}
	t.Reset(d)
	return t
}

// NewTimer returns a timer that sends the time at which it was due on its
// channel, d from now or up to a tick later.
func (c *Clock) NewTimer(d time.Duration) *Timer {
	ch := make(chan time.Time, 1)
	t := &Timer{C: ch, c: ch, clock: c}
	t.Reset(d)
	return t
}

// After returns the channel of a new timer. The timer cannot be stopped: it and
// its timeout stay until they are due.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).C }

// Stop prevents the timer from firing. It returns true if it did so: then f will
// not be called, or nothing will be received from C, not even what was sent there
// before. It returns false if f was called already, the value was received, or
// the timer was not active.
func (t *Timer) Stop() bool {
	t.check("Stop")
	t.mu.Lock()
	defer t.mu.Unlock()
	active := t.drain()
	if t.timeout != nil {
		t.timeout.Cancel() // if it is too late for that, T1 holds
		t.timeout = nil
		active = true
	}
	return active
}

// Reset makes the timer fire d from now or up to a tick later, whatever it was
// before. It returns what Stop would have. After it, nothing of before is
// received from C.
//
// Moving an active timer to a later time costs one compare-and-swap and the
// lock; one that is not active needs a new timeout, of 48 bytes.
func (t *Timer) Reset(d time.Duration) bool {
	t.check("Reset")
	t.mu.Lock()
	defer t.mu.Unlock()
	active := t.drain()
	t.due = due(t.clock.now(), d)
	if t.timeout != nil {
		active = true
		if t.timeout.Reset(d) {
			return true
		}
	}
	t.timeout = t.clock.arm((*firing)(t), d)
	return active
}

func (t *Timer) check(method string) {
	if t.clock == nil {
		panic("clock: " + method + " called on uninitialized Timer")
	}
}

// drain takes out what was sent and not received. Guarded by mu.
func (t *Timer) drain() bool {
	if t.c == nil {
		return false
	}
	select {
	case <-t.c:
		return true
	default:
		return false
	}
}

// firing is the Timer as the task of its timeout, so that Timer has no method
// for that.
type firing Timer

// Run implements hwt.TimerTask.
func (f *firing) Run(timeout hwt.Timeout) error {
	t := (*Timer)(f)
	if !t.fire(timeout) || t.f == nil {
		return nil
	}
	what := hwt.TaskFunc(func(hwt.Timeout) error { t.f(); return nil })
	if t.clock.config.inline {
		t.clock.runner.Run(timeout, what)
	} else {
		go t.clock.runner.Run(timeout, what)
	}
	return nil
}

// fire ends the timer's being active, and sends if it has a channel. It returns
// false if timeout is not the timer's any more.
func (t *Timer) fire(timeout hwt.Timeout) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timeout != timeout {
		return false
	}
	t.timeout = nil
	if t.c != nil {
		t.c <- t.clock.nominal(time.Now(), t.due) // There is room: T2.
	}
	return true
}
