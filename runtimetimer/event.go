package runtimetimer

import (
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/embedded"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// An hwt.Event is a timeout that becomes pending again. S1 holds for it, too.

// InitEvent implements [hwt.Event.Init]. Arm of the event costs as much as NewTimeout or,
// if the event is pending, as Reset, and allocates only a runtime timer that is not reused.
func (t *Timer) InitEvent(event *hwt.Event, task hwt.TimerTask) error {
	t.check()
	inside := timeoutOf(event)
	switch {
	case inside.isEvent():
		return hwt.ErrEventInitialized
	case enginekit.IsNilTask(task):
		return hwt.ErrNilTask
	}
	inside.store(enginekit.Unarmed)
	inside.task, inside.shard = task, t.anyShard()
	inside.stamp = embedded.Stamp(unsafe.Pointer(event))
	return nil
}

// The two types must have the same size.
var _ [unsafe.Sizeof(hwt.Event{})]byte = [unsafe.Sizeof(timeout{})]byte{}

// timeoutOf returns the timeout in e.
func timeoutOf(e *hwt.Event) *timeout { return (*timeout)(unsafe.Pointer(e)) }

// isEvent reports whether t is the inside of an hwt.Event.
func (t *timeout) isEvent() bool { return t.stamp != 0 }

// handle returns the handle that users know.
func (t *timeout) handle() hwt.Timeout {
	if t.isEvent() {
		return (*hwt.Event)(unsafe.Pointer(t))
	}
	return t
}

// wantsNotice reports whether the task of t is notified when Cancel ends t.
func (t *timeout) wantsNotice() bool { return !t.isEvent() && enginekit.WantsCancelled(t.task) }

// Arm implements embedded.Host.
func (s *shard) Arm(e *hwt.Event, delay time.Duration) error {
	t, deadline := timeoutOf(e), s.timer.clock.Deadline(delay)
	delay = s.lock(delay, deadline)
	defer s.mu.Unlock()
	switch {
	case t.entry != nil:
		s.move(t, delay, deadline)
		return nil
	case s.timer.stopped.Load():
		return hwt.ErrStopped
	}
	if err := s.timer.limit.Take(1); err != nil {
		return err
	}
	s.checkSide(1)
	s.insert(t, delay, deadline)
	return nil
}

// Reset implements embedded.Host.
func (s *shard) Reset(e *hwt.Event, delay time.Duration) bool { return timeoutOf(e).Reset(delay) }

// Cancel implements embedded.Host.
func (s *shard) Cancel(e *hwt.Event) bool { return timeoutOf(e).Cancel() }

// Timeout implements embedded.Host.
func (s *shard) Timeout(e *hwt.Event) hwt.Timeout { return timeoutOf(e) }
