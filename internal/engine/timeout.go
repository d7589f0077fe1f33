package engine

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/mpsc"
)

// Timeout is the one allocation that a pending timeout costs its caller: 48
// bytes on 64-bit machines, a size class of the allocator, filled to the last.
type Timeout struct {
	life   life               // Atomic: written by callers and the worker, by the rules of life.go. First, so that it is aligned on 32-bit machines.
	place  place              // where it waits in the wheel. Guarded by Core.mu.
	link   mpsc.Link[Timeout] // Belongs to the queue that holds the timeout.
	task   hwt.TimerTask      // Immutable after NewTimeout.
	handle *Handle            // Immutable after NewTimeout. Keeps the timer alive while this is pending.
}

var _ hwt.Timeout = (*Timeout)(nil)

// Timer implements hwt.Timeout.
func (t *Timeout) Timer() hwt.Timer { return t.handle.outer }

// Task implements hwt.Timeout.
func (t *Timeout) Task() hwt.TimerTask { return t.task }

// IsExpired implements hwt.Timeout.
func (t *Timeout) IsExpired() bool { return wasExpired(atomic.LoadInt64(&t.life)) }

// IsCancelled implements hwt.Timeout.
func (t *Timeout) IsCancelled() bool { return wasCancelled(atomic.LoadInt64(&t.life)) }

// Cancel implements hwt.Timeout.
func (t *Timeout) Cancel() bool {
	was, ok := cancel(&t.life)
	if ok {
		t.handle.core.onCancelled(t, was)
	}
	return ok
}

// Reset implements hwt.Timeout.
func (t *Timeout) Reset(delay time.Duration) bool {
	core := t.handle.core
	push, ok := rearm(&t.life, core.deadline(delay))
	if push {
		core.pushQueued(t)
	}
	return ok
}

// String tells the deadline relative to now, the end if there was one, and the
// task: "timeout(in 4.99s, cancelled, task main.order)".
func (t *Timeout) String() string {
	w := atomic.LoadInt64(&t.life)
	var b strings.Builder
	b.WriteString("timeout(")
	switch left := time.Duration(deadlineOf(w) - t.handle.core.now()); {
	case deadlineOf(w) == forever:
		b.WriteString("never")
	case left > 0:
		fmt.Fprintf(&b, "in %v", left)
	case left < 0:
		fmt.Fprintf(&b, "%v ago", -left)
	default:
		b.WriteString("now")
	}
	switch {
	case wasCancelled(w):
		b.WriteString(", cancelled")
	case wasExpired(w):
		b.WriteString(", expired")
	}
	fmt.Fprintf(&b, ", task %T)", t.task)
	return b.String()
}
