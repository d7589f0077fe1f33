package engine

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine/store"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/mpsc"
)

// Timeout is the one allocation that a pending timeout costs its caller: 48
// bytes on 64-bit machines, a size class of the allocator, filled to the last.
type Timeout struct {
	state state              // Atomic: written by callers and the worker, by the rules of state.go. First, so that it is aligned on 32-bit machines.
	node  store.Node         // its place in the wheel, or one of the spots below, and the marks of walks. Guarded by Core.mu.
	link  mpsc.Link[Timeout] // Belongs to the queue that holds the timeout.
	task  hwt.TimerTask      // Immutable after NewTimeout.
	home  *home              // Immutable after NewTimeout. Keeps the timer alive while this is pending.
}

var _ hwt.Timeout = (*Timeout)(nil)

// The spots of timeouts outside the wheel.
const (
	elsewhere   store.Spot = iota
	inDue                  // in firing.due
	endedByStop            // in the result of Stop
)

// timeoutOf returns the timeout that n is a part of.
func timeoutOf(n *store.Node) *Timeout {
	return (*Timeout)(unsafe.Add(unsafe.Pointer(n), -int(unsafe.Offsetof(Timeout{}.node))))
}

// Timer implements hwt.Timeout.
func (t *Timeout) Timer() hwt.Timer { return t.home.handle.outer }

// Task implements hwt.Timeout.
func (t *Timeout) Task() hwt.TimerTask { return t.task }

// Deadline implements hwt.Timeout.
func (t *Timeout) Deadline() time.Time {
	deadline := deadlineOf(atomic.LoadInt64(&t.state))
	if deadline == forever {
		return time.Time{}
	}
	return t.home.core.timer.clock.Time(deadline)
}

// IsExpired implements hwt.Timeout.
func (t *Timeout) IsExpired() bool { return wasExpired(atomic.LoadInt64(&t.state)) }

// IsCancelled implements hwt.Timeout.
func (t *Timeout) IsCancelled() bool { return wasCancelled(atomic.LoadInt64(&t.state)) }

// Cancel implements hwt.Timeout.
func (t *Timeout) Cancel() bool {
	was, ok := cancel(&t.state)
	if ok {
		t.home.core.onCancelled(t, was)
	}
	return ok
}

// Reset implements hwt.Timeout.
func (t *Timeout) Reset(delay time.Duration) bool {
	core := t.home.core
	deadline := core.timer.deadline(delay)
	was, ok := rearm(&t.state, deadline)
	if !ok {
		return false
	}
	core.onReset(t, deadline)
	if deadline < deadlineOf(was) {
		core.onAdvanced(t, was, deadline)
	}
	return true
}

// String describes the timeout by its deadline, relative to now, by its end if it
// had one, and by its task: "timeout(in 4.99s, task *shop.check)".
func (t *Timeout) String() string {
	return enginekit.Word(atomic.LoadInt64(&t.state)).Describe(t.home.core.timer.now(), t.task)
}
