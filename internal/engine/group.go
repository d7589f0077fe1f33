package engine

import (
	"math"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cacheline"
)

// group is the workers of a timer, at least one. Immutable after Init.
type group []home

// home is a worker as its timeouts know it: its core, and what the core must not refer to.
type home struct {
	core  *Core
	outer hwt.Timer // the engine's Timer, which holds the Handle
	group group     // all workers of the timer
}

// setup returns the configuration of the timer.
func (g group) setup() *setup { return &g[0].core.timer }

// of returns the worker for a new timeout.
func (g group) of(t *Timeout) *home { return &g[g.index(t)] }

// index returns the index of the worker for a new timeout. It is a function of the
// timeout's address, so that timeouts are spread evenly, whichever processor makes them,
// and callers share no counter.
func (g group) index(t *Timeout) int {
	if len(g) > 1 {
		return cacheline.Share(numberOf(t), len(g))
	}
	return 0
}

// pending returns how many timeouts have not ended.
func (g group) pending() (n int64) {
	for i := range g {
		n += g[i].core.pending()
	}
	return n
}

// given returns how many tasks and notices the workers have handed to the runner.
func given(cores []*Core) (n int64) {
	for _, c := range cores {
		n += c.firing.expired.Load() + c.firing.noticed.Load()
	}
	return n
}

// close closes all intakes (S3).
func (g group) close() {
	for i := range g {
		g[i].core.intake.close()
	}
}

// hold accounts for a timeout that Cancel ended and that is not yet dropped. At half the
// bound it wakes the workers, which else give notices at their next tick only.
func (g group) hold() {
	s := g.setup()
	if s.limit.Max() == 0 {
		return
	}
	if s.held.Add(1) == s.maxHeld()/2 {
		g.nudge()
	}
	s.limit.Give(1)
}

// reserve takes places for n new timeouts of a timer with a pending limit. The limit also
// bounds the cancelled timeouts that are still held: a caller that finds too many drains
// the intake itself.
func (g group) reserve(n int64) error {
	s := g.setup()
	if bound := s.maxHeld(); s.held.Load() >= bound {
		g.drainAll()
		if held := s.held.Load(); held >= bound { // the rest waits for its notices
			g.nudge()
			return s.limit.Reject(&hwt.PendingLimitError{Cancelled: held, Max: bound})
		}
	}
	return s.limit.Take(n)
}

// drainAll drains all intakes.
func (g group) drainAll() {
	for i := range g {
		g[i].core.drainAll()
	}
}

// nudge has all workers look at the intake and at the notices that callers left.
func (g group) nudge() {
	for i := range g {
		g[i].core.nudge()
	}
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
