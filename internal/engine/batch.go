package engine

import (
	"slices"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// spreadEach is the number of timeouts for which a batch takes another worker. Waking a
// worker costs as much as some hundred timeouts.
const spreadEach = 1024

// NewTimeouts implements hwt.Engine.
//
// A batch is divided among as many workers as are worth it, each of which receives its
// part with one push to the stripe of the part's first timeout. The others may
// therefore be in a stripe that is not theirs (S4). A Stop precedes all parts or none
// (S5).
func (h *Handle) NewTimeouts(tasks []hwt.TimerTask, delay time.Duration) ([]hwt.Timeout, error) {
	if slices.ContainsFunc(tasks, enginekit.IsNilTask) {
		return nil, hwt.ErrNilTask
	}
	if h.tracker.Detailed() {
		h.tracker.Record("NewTimeouts")
	}
	setup, n := h.workers.setup(), int64(len(tasks))
	if n == 0 {
		if h.stopping.Load() {
			return nil, hwt.ErrStopped
		}
		return nil, nil
	}
	deadline := setup.clock.Deadline(delay) // before anything is counted, because it may panic
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

// push makes timeouts of the tasks and pushes them, unless the intakes are closed.
func (h *Handle) push(tasks []hwt.TimerTask, deadline int64) ([]hwt.Timeout, bool) {
	setup := h.workers.setup()
	caller := setup.callers.Caller()
	timeouts := make([]hwt.Timeout, len(tasks))
	for i, task := range tasks {
		timeouts[i] = setup.newTimeout(deadline, task, caller)
	}
	parts := h.workers.divide(timeouts)
	if !h.pushAll(parts) {
		return nil, false
	}
	for i := range parts {
		parts[i].attend()
	}
	return timeouts, true
}

// pushAll pushes all parts, or none and returns false.
func (h *Handle) pushAll(parts []part) bool {
	if len(parts) > 1 {
		h.batching.RLock()
		defer h.batching.RUnlock()
	}
	for i := range parts {
		if !parts[i].push() {
			return false // this is the first one (S5)
		}
	}
	return true
}

// part is the part of a batch that one worker receives.
type part struct {
	core     *Core
	stripe   *stripe
	timeouts []hwt.Timeout
	total    int64 // accepted by the stripe, with this part
}

// divide sets the workers of a batch's timeouts.
func (g group) divide(timeouts []hwt.Timeout) []part {
	n := max(1, min(len(g), len(timeouts)/spreadEach))
	parts := make([]part, n)
	first := g.index(timeouts[0].(*Timeout))
	for i := range parts {
		home := &g[(first+i)%len(g)]
		mine := timeouts[i*len(timeouts)/n : (i+1)*len(timeouts)/n]
		for _, t := range mine {
			t.(*Timeout).home = home
		}
		parts[i] = part{core: home.core, stripe: home.core.intake.of(mine[0].(*Timeout)), timeouts: mine}
	}
	return parts
}

// push pushes the part, unless the intake is closed.
func (p *part) push() bool {
	n := int64(len(p.timeouts))
	pushed := p.stripe.added.PushAll(func(yield func(*Timeout) bool) {
		for _, t := range p.timeouts {
			yield(t.(*Timeout))
		}
		p.total = p.stripe.accepted.Add(n) // only now, or callers would try to help before the push
	})
	if !pushed {
		p.stripe.accepted.Add(-n)
	}
	return pushed
}

// attend wakes the worker and paces the caller.
func (p *part) attend() {
	if p.core.signal.phase.Load() != ticking {
		p.core.wakeWorker() // (S4)
	}
	p.core.paceBatch(p.stripe, p.total, int64(len(p.timeouts)))
}

// paceBatch is pace for n pushes; total is the number of the last one. As callers of
// single pushes do, the caller helps until the stripe holds no more than it may (P1),
// but with about as many timeouts as it pushed at most.
func (c *Core) paceBatch(s *stripe, total, n int64) {
	if total/paceEvery != (total-n)/paceEvery {
		c.paceNow(s, true)
	}
	for left := n; left > 0 && s.backlog() > maxBacklog && c.signal.phase.Load() != stopped; left -= assistLen {
		c.paceNow(s, true)
	}
}
