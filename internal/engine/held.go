package engine

import (
	"math"

	"github.com/hashedwheel/hwt"
)

// minHeld is the least bound of the cancelled timeouts that a timer with a limit holds.
const minHeld = 4096

// reserve takes places for n new timeouts, if the timer has a pending limit. The limit
// also bounds the cancelled timeouts that are still held: a caller that finds too many
// drains the intake itself.
func (h *Handle) reserve(n int64) error {
	if h.stopping.Load() {
		return hwt.ErrStopped
	}
	s := h.setup()
	if bound := s.maxHeld(); s.held.Load() >= bound {
		for i := range h.workers {
			h.workers[i].core.drainAll()
		}
		if held := s.held.Load(); held >= bound { // the rest waits for its notices
			h.nudge()
			return s.limit.Reject(&hwt.PendingLimitError{Cancelled: held, Max: bound})
		}
	}
	return s.limit.Take(n)
}

// drainAll drains the whole intake.
func (c *Core) drainAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schedule.wheel == nil {
		return
	}
	c.catchUp()
	for i := range c.intake.stripes {
		b := budget{room: math.MaxInt, until: never}
		c.schedule.drainAdded(&c.intake.stripes[i], &b)
		c.schedule.drainChanged(&c.intake.stripes[i], &b)
	}
}

// maxHeld returns the bound of the cancelled timeouts that are still held.
func (s *setup) maxHeld() int64 { return max(s.limit.Max(), minHeld) }

// hold accounts for a timeout that Cancel ended and that is not yet dropped. At half the
// bound it wakes the workers, which else give notices at their next tick only.
func (h *Handle) hold() {
	s := h.setup()
	if s.limit.Max() == 0 {
		return
	}
	if s.held.Add(1) == s.maxHeld()/2 {
		h.nudge()
	}
	s.limit.Give(1)
}

// nudge has all workers look at the intake and at the notices that callers left.
func (h *Handle) nudge() {
	for i := range h.workers {
		h.workers[i].core.nudge()
	}
}

// released accounts for n cancelled timeouts that are no longer held.
func (s *setup) released(n int64) {
	if s.limit.Max() > 0 {
		s.held.Add(-n)
	}
}
