package engine

import (
	"time"

	"github.com/hashedwheel/hwt/internal/enginekit"
)

// Cancel implements hwt.Timeout.
func (t *Timeout) Cancel() bool {
	was, ok := t.state.cancel()
	if ok {
		t.pushCancelled(was)
	}
	return ok
}

// pushCancelled accounts for a timeout that Cancel ended, and makes the worker drop it.
// was is the word that Cancel ended.
func (t *Timeout) pushCancelled(was enginekit.Word) {
	c := t.home.core
	s := c.intake.of(t)
	if was&queued != 0 { // in a queue already: when it is drained it is dropped
		s.cancelled.Add(1)
		t.hold()
		c.attend(s, noDeadline)
		return
	}
	n := s.removed.Add(1)
	t.hold()
	if !s.changed.Push(t) {
		s.reset.Add(-1) // in place of removed, which Stats shows and which only grows
		t.notifyLate()
		return
	}
	c.attend(s, noDeadline)
	c.pace(s, n, false)
}

// hold gives the place of t, which Cancel ended and which was counted (S2), back to the
// limit, if there is one.
func (t *Timeout) hold() {
	if t.home.timer.limit.Max() > 0 {
		t.home.group.hold()
	}
}

// Reset implements hwt.Timeout.
func (t *Timeout) Reset(delay time.Duration) bool {
	core := t.home.core
	deadline := core.timer.clock.Deadline(delay)
	was, ok := t.state.rearm(deadline)
	if !ok {
		return false
	}
	core.intake.countReset(t, deadline)
	if deadline < was.Deadline() {
		t.pushAdvanced(was, deadline)
	}
	return true
}

// pushAdvanced makes the worker look at a timeout that was reset to an earlier
// deadline. was is the word before.
func (t *Timeout) pushAdvanced(was enginekit.Word, deadline int64) {
	c := t.home.core
	s := c.intake.of(t)
	if was&queued != 0 { // in a queue already
		c.attend(s, deadline)
		return
	}
	n := s.reset.Add(1)
	if !s.changed.Push(t) {
		s.reset.Add(-1)
		t.unqueue()
		return
	}
	c.attend(s, t.state.drainBy()) // others may rely on this push (L2)
	c.pace(s, n, false)
}

// notifyLate notifies the task of t, which Cancel ended after the intake was
// closed. The worker does it as long as it is there, and a goroutine otherwise:
// never the caller of Cancel, which may hold locks that the task needs.
func (t *Timeout) notifyLate() {
	if !enginekit.WantsCancelled(t.task) {
		return
	}
	c := t.home.core
	c.mu.Lock()
	gone := c.schedule.noticesClosed.Load()
	if !gone {
		c.schedule.nextNotices = append(c.schedule.nextNotices, t)
	}
	c.mu.Unlock()
	if gone {
		c.firing.noticed.Add(1)
		c.timer.runner.CallLate(t.giveLate)
	}
}

// giveLate gives a late notice, on its own goroutine.
func (t *Timeout) giveLate() {
	timer, id := &t.home.core.timer, goroutineID()
	timer.late.Store(id, timer.runner.Own(t.task, false))
	defer timer.late.Delete(id)
	timer.runner.Cancelled(t, t.task)
}

// unqueue takes back the queued bit of t, which was pushed after the intake was
// closed, and gives the notice for a Cancel that relied on that push.
func (t *Timeout) unqueue() {
	c := t.home.core
	c.mu.Lock()
	missed := t.state.dequeue().IsCancelled() && !t.node.IsAt(endedByStop)
	c.mu.Unlock()
	if missed {
		t.notifyLate()
	}
}

// remove takes a timeout that has ended out of its bucket, if it is in one. The worker
// forgets it after its task got notice if it is to get one.
func (s *schedule) remove(t *Timeout) {
	if t.node.Stored() {
		s.wheel.Remove(&t.node)
	}
	switch {
	case t.isEvent() || !t.state.load().IsCancelled():
	case t.wantsNotice():
		s.nextNotices = append(s.nextNotices, t)
	default:
		s.timer.released(1)
	}
}
