package engine

import (
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/embedded"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// Ground rules
//
// A connection that sets a timeout for each message and then cancels it would allocate each
// time, and pass each timeout through the intake and the wheel. An event instead stays in the
// user's object: arming it again is one compare-and-swap as long as a queue or the wheel still
// holds it from the life before. The price is that an ended word may become pending again. The
// rules of a timeout assume that it ends once, so an event needs the rules below.
//
// An event is a timeout that its user's object holds, and that has many lives. Arm begins a
// life. A life ends by expiry, Cancel, or Stop. An Arm of a pending event is a Reset.
//
//	E1. Between two lives the node may still be in a queue, in a bucket, or in due. An Arm may
//	    then begin a life: wherever the node is, the word alone says whether the event is
//	    pending, and until when. queued keeps its meaning in an ended word (L2). An Arm that
//	    finds queued set does not push the event. However often an event is armed and cancelled,
//	    it passes through the intake only once between two ticks.
//	E2. Events are pushed to changed, new lives too. An event that Cancel ended is pushed,
//	    unless it is queued, so that the worker takes it out of its bucket.
//	E3. A push is counted before the word says queued, in stripe.reset. Stop closes the intake,
//	    and waits until as many timeouts have come out as were counted. A push that fails makes
//	    the event an orphan, under mu, before its count is taken back. Then Stop ends all lives,
//	    and takes the wheel, without releasing mu. Stop finds each life that an Arm has begun
//	    before, even if that Arm relied on the push of another caller. Stop ends one life of an
//	    event.
//	E4. After it has changed the word, Arm looks at phase. If the timer is stopped and Stop
//	    has taken the wheel, Arm makes the word Unarmed, unless the life has ended, and
//	    fails. An Arm that finds the word Unarmed then fails, too: another caller has
//	    ended the life of both. Stop stores phase first, so that each life is found by
//	    Stop or by its Arm.
//	E5. An event in due leaves due when firing ends, whether it expired or was cancelled, in
//	    the same step as timeouts that were reset. If it has been armed, it then goes back to
//	    the wheel. Until then a holder of mu that drains the event leaves it in due (F1).
//	E6. A life is counted in stripe.armed before the word changes, as in S2. The memory of a
//	    cancelled event is its user's: held does not count it, and no task gets notice.

// eventOf returns the timeout in e.
func eventOf(e *hwt.Event) *Timeout { return (*Timeout)(unsafe.Pointer(e)) }

// The two types must have the same size. A test checks the fields.
var _ [unsafe.Sizeof(hwt.Event{})]byte = [unsafe.Sizeof(Timeout{})]byte{}

// InitEvent implements the method of hwt.EventTimer for the timer of h.
func InitEvent(h *Handle, e *hwt.Event, task hwt.TimerTask) error {
	h.workers.env()
	t := eventOf(e)
	switch {
	case t.isEvent():
		return hwt.ErrEventInitialized
	case enginekit.IsNilTask(task):
		return hwt.ErrNilTask
	}
	t.initEvent(task, h.workers.of(t))
	t.node.Stamp = embedded.Stamp(unsafe.Pointer(e))
	return nil
}

// Arm implements embedded.Host. The loop ends because each turn means that a life began or
// ended.
func (m *home) Arm(e *hwt.Event, delay time.Duration) error {
	t, c := eventOf(e), m.core
	deadline := c.env.clock.Deadline(delay)
	if c.intake.phase.Load() == stopped {
		return hwt.ErrStopped
	}
	for !m.move(t, deadline) {
		if began, err := m.begin(t, deadline); err != nil {
			return err
		} else if began {
			break
		}
	}
	if c.intake.phase.Load() == stopped {
		return m.armLate(t)
	}
	return nil
}

// Reset implements embedded.Host.
func (m *home) Reset(e *hwt.Event, delay time.Duration) bool {
	return m.move(eventOf(e), m.env.clock.Deadline(delay))
}

// Cancel implements embedded.Host.
func (m *home) Cancel(e *hwt.Event) bool {
	t := eventOf(e)
	for {
		w := t.state.load()
		if w.HasEnded() {
			return false
		}
		if m.change(t, w, w.Cancelled()|queued, noDeadline) { // Linearization point of Cancel.
			m.core.intake.of(t).countCancelledInQueue()
			m.env.limit.Give(1)
			return true
		}
	}
}

// Timeout implements embedded.Host.
func (*home) Timeout(e *hwt.Event) hwt.Timeout { return eventOf(e) }

// move changes the deadline of a pending event. move returns false if the event has ended.
func (m *home) move(t *Timeout, deadline int64) bool {
	for {
		w := t.state.load()
		if w.HasEnded() {
			return false
		}
		next, by := enginekit.PendingWord(deadline)|w&queued, int64(never)
		if deadline < w.Deadline() {
			next, by = next|queued, deadline
		}
		if m.change(t, w, next, by) { // Linearization point of an Arm that overtakes another.
			m.core.intake.countReset(t, deadline)
			return true
		}
	}
}

// begin begins a life. begin returns false if the event is pending.
func (m *home) begin(t *Timeout, deadline int64) (bool, error) {
	if m.env.limit.Max() > 0 {
		if err := m.group.reserve(1); err != nil {
			return false, err
		}
	}
	m.core.intake.of(t).countLife(1) // (E6)
	for {
		w := t.state.load()
		if !w.HasEnded() {
			m.unbegin(t)
			return false, nil
		}
		if m.change(t, w, enginekit.PendingWord(deadline)|queued, deadline) { // Linearization point of Arm.
			return true, nil
		}
	}
}

// unbegin takes back the counts of a life.
func (m *home) unbegin(t *Timeout) {
	m.core.intake.of(t).countLife(-1)
	m.env.limit.Give(1)
}

// change replaces the word w by next, and pushes the event if only next is queued (E2). The
// worker then looks at a queued event by the time given. change returns false if the word
// is no longer w.
func (m *home) change(t *Timeout, w, next enginekit.Word, by int64) bool {
	c := m.core
	s := c.intake.of(t)
	if w&queued == next&queued {
		if !t.state.compareAndSwap(w, next) {
			return false
		}
		c.ensureDrained(s, by)
		return true
	}
	n := s.countChange() // (E3)
	if !t.state.compareAndSwap(w, next) {
		s.uncountChange()
		return false
	}
	if !s.changed.Push(t) {
		m.adopt(s, t)
		return true
	}
	c.ensureDrained(s, t.state.drainBy()) // others may rely on this push (L2)
	c.assistAt(s, n, !next.HasEnded() && w.HasEnded())
	return true
}

// adopt makes t an orphan, since the push of t to s has failed (E3).
func (m *home) adopt(s *stripe, t *Timeout) {
	c := m.core
	c.mu.Lock()
	defer c.mu.Unlock()
	c.schedule.addOrphan(t)
	s.uncountChange()
}

// armLate returns nil if Stop ends the life that an Arm has begun or moved, or if the life
// has ended. Otherwise armLate ends the life, and returns hwt.ErrStopped (E4).
func (m *home) armLate(t *Timeout) error {
	c := m.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schedule.wheel != nil {
		return nil
	}
	for {
		w := t.state.load()
		switch {
		case w == enginekit.Unarmed:
			return hwt.ErrStopped
		case w.HasEnded():
			return nil
		case t.state.compareAndSwap(w, enginekit.Unarmed):
			m.unbegin(t)
			return hwt.ErrStopped
		}
	}
}
