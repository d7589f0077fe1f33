package clock

import (
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
)

// Ground rules
//
// Stop and Reset cannot cancel a timeout that has expired, although the task of the timeout may still
// wait for its turn. Package time promises that such a task has no effect: after Stop or Reset, no old
// value is received, and no old call of f begins. The task therefore looks whether its timeout is the
// present one before it fires.
//
//	T1. A Timer is active while it has a timeout. Its task fires it only if that timeout has
//	    expired. If the timeout is pending, cancelled or nil, the task belongs to an earlier
//	    timeout that expired but lost the race for mu to a Stop or Reset. Handles are not
//	    compared, because the hwt.Timer may wrap those that it returns.
//	T2. The channel has room for one value, and is sent to only under mu and only
//	    when empty, so the send never blocks. Stop and Reset empty it under mu, so
//	    nothing stale is left.
//	T3. mu is not held while a user's function runs. The worker waits for mu no
//	    longer than a NewTimeout takes.

// Timer is a [time.Timer] on a [Clock]. Create one with [Clock.NewTimer] or
// [Clock.AfterFunc]. Its methods are safe for concurrent use, take constant time
// and do not block.
type Timer struct {
	C <-chan time.Time // Delivers the time at which the timer was due. Nil for AfterFunc.

	c     chan time.Time // C, to send to; of an After or a Sleep, it alone. Immutable.
	f     func()         // Of AfterFunc. Immutable.
	clock *Clock         // Immutable.

	mu      sync.Mutex
	due     time.Duration // Guarded by mu.
	timeout hwt.Timeout   // Nil unless active (T1). Guarded by mu.
}

// AfterFunc calls f once, on a new goroutine, when d has passed or up to one tick later.
// If d is zero or less, it does so immediately. [Timer.Stop] prevents the call.
//
// A panic in f is reported and does not end the program, unless
// [Options.PanicsEndProgram] is set: see [Options.ErrorHandler], and
// [Options.FuncsOnTimer] for where f runs. AfterFunc panics if f is nil. It takes
// two allocations, 64 bytes and the timer's timeout.
func (c *Clock) AfterFunc(d time.Duration, f func()) *Timer {
	if f == nil {
		panic("clock: AfterFunc: f is nil (expected: a function)")
	}
	t := &Timer{f: f, clock: c}
	t.Reset(d)
	return t
}

// NewTimer returns a timer that sends its due time on its channel when d has passed, or up
// to one tick later. If d is zero or less, the timer sends immediately.
func (c *Clock) NewTimer(d time.Duration) *Timer {
	ch := make(chan time.Time, 1)
	t := &Timer{C: ch, c: ch, clock: c}
	t.Reset(d)
	return t
}

// After returns the channel of a new timer. The timer cannot be stopped: timer and timeout
// stay until the due time, or until [Clock.End].
func (c *Clock) After(d time.Duration) <-chan time.Time {
	t := c.newAfter()
	t.Reset(d)
	return t.c
}

// newAfter returns the timer of an After or a Sleep. End makes the timer fire.
func (c *Clock) newAfter() *Timer { return &Timer{c: make(chan time.Time, 1), clock: c} }

// Stop prevents the timer from firing, and reports success. If Stop returns true, f will
// not be called, or nothing will be received from C, not even a value sent there before.
// Stop returns false if f was called, the value was received, or the timer was not active.
func (t *Timer) Stop() bool {
	t.check("Stop")
	t.mu.Lock()
	defer t.mu.Unlock()
	active := t.drain()
	return t.disarm() || active
}

// Reset makes the timer fire when d has passed or up to one tick later, whatever its state. If
// d is zero or less, the timer fires immediately. The result is the same as the result of Stop
// in the same state. Afterwards no value sent before the Reset is received from C.
//
// Moving an active timer to a later time does not allocate. A timer that is not active
// needs a new timeout.
func (t *Timer) Reset(d time.Duration) bool {
	t.check("Reset")
	t.mu.Lock()
	defer t.mu.Unlock()
	active := t.drain()
	t.due = t.clock.in(d)
	if d > 0 && t.timeout != nil && t.clock.suits(t.timeout, d) && t.timeout.Reset(d) {
		return true
	}
	active = t.disarm() || active
	if d > 0 {
		t.timeout = t.clock.arm((*timerTask)(t), d)
	} else {
		t.fire()
	}
	return active
}

func (t *Timer) check(method string) {
	if t.clock == nil {
		panic("clock: " + method + " called on uninitialized Timer")
	}
}

// disarm makes the timer inactive, and reports whether the timer was active. If Cancel
// comes too late, the task fires nothing (T1). Guarded by mu.
func (t *Timer) disarm() bool {
	if t.timeout == nil {
		return false
	}
	t.timeout.Cancel()
	t.timeout = nil
	return true
}

// drain removes a value that was not received, and reports whether there was one.
// Guarded by mu.
func (t *Timer) drain() bool {
	select {
	case <-t.c:
		return true
	default: // even if c is nil
		return false
	}
}

// fire sends the due time, or calls f on a new goroutine. Guarded by mu.
func (t *Timer) fire() {
	switch {
	case t.f == nil:
		t.c <- t.clock.dueTime(time.Now(), t.due) // There is room (T2).
	case t.clock.options.PanicsEndProgram:
		go t.f()
	default:
		go t.clock.call(t.f)
	}
}

// timerTask is a Timer as the task of its timeouts.
type timerTask Timer

// Run implements [hwt.TimerTask].
func (x *timerTask) Run(hwt.Timeout) error {
	if t := (*Timer)(x); t.expire() {
		t.clock.call(t.f)
	}
	return nil
}

// Rejected implements [hwt.RejectedTask]: a goroutine runs the task, and err is reported.
func (x *timerTask) Rejected(timeout hwt.Timeout, err error) error {
	go x.Run(timeout)
	return err
}

// expire fires the timer, unless a Stop or Reset came since the timeout expired (T1).
// expire returns true if the caller must call f.
func (t *Timer) expire() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timeout == nil || !t.timeout.IsExpired() {
		return false
	}
	t.timeout = nil
	if t.f != nil && t.clock.options.FuncsOnTimer {
		return true
	}
	t.fire()
	return false
}
