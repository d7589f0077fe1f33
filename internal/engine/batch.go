package engine

import (
	"slices"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// NewTimeouts implements hwt.Engine.
//
// One push brings all timeouts of a batch to the stripe of the first, so a Stop
// precedes all of them or none. Some may therefore be in a stripe that is not theirs
// (S4).
func (h *Handle) NewTimeouts(tasks []hwt.TimerTask, delay time.Duration) ([]hwt.Timeout, error) {
	if slices.ContainsFunc(tasks, enginekit.IsNilTask) {
		return nil, hwt.ErrNilTask
	}
	if h.tracker.Detailed() {
		h.tracker.Record("NewTimeouts")
	}
	setup, n := h.workers.setup(), int64(len(tasks))
	deadline := setup.deadline(delay) // before anything is counted, because it may panic
	if n == 0 {
		if h.stopping.Load() {
			return nil, hwt.ErrStopped
		}
		return nil, nil
	}
	if setup.limit.Max() > 0 {
		if err := h.reserve(n); err != nil {
			return nil, err
		}
	}
	timeouts, ok := h.push(tasks, deadline)
	if !ok {
		setup.limit.Give(n)
		h.close()
		return nil, hwt.ErrStopped
	}
	return timeouts, nil
}

// push makes timeouts of the tasks and pushes them, unless the intake is closed.
func (h *Handle) push(tasks []hwt.TimerTask, deadline int64) ([]hwt.Timeout, bool) {
	setup := h.workers.setup()
	caller := setup.callers.Caller()
	first := setup.newTimeout(deadline, tasks[0], caller)
	first.home = h.workers.of(first)
	c, n := first.home.core, int64(len(tasks))
	s := c.intake.of(first)
	timeouts := make([]hwt.Timeout, n)
	total := int64(0)
	pushed := s.added.PushAll(func(yield func(*Timeout) bool) {
		timeouts[0] = first
		yield(first)
		for i := 1; i < len(tasks); i++ {
			t := setup.newTimeout(deadline, tasks[i], caller)
			t.home = first.home
			timeouts[i] = t
			yield(t)
		}
		total = s.accepted.Add(n) // only now, or callers would try to help before the push
	})
	if !pushed {
		s.accepted.Add(-n)
		return nil, false
	}
	if c.signal.phase.Load() != ticking {
		c.wakeWorker() // (S4)
	}
	c.paceBatch(s, total, n)
	return timeouts, true
}

// paceBatch is pace for n pushes; total is the number of the last one. As callers of
// single pushes do, the caller helps until the stripe holds no more than it may (P1),
// but with about as many timeouts as it pushed at most.
func (c *Core) paceBatch(s *stripe, total, n int64) {
	if total/paceEvery != (total-n)/paceEvery {
		c.paceNow(s)
	}
	for left := n; left > 0 && s.backlog() > maxBacklog && c.signal.phase.Load() != stopped; left -= assistLen {
		c.paceNow(s)
	}
}
