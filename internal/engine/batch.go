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
// A batch is divided among as many workers as are worth it, and each worker receives one part
// with one push to the stripe of the part's first timeout. The other timeouts of the part may
// be in the stripe of another timeout (S4). A Stop precedes all parts, or follows all parts
// (S5).
func (h *Handle) NewTimeouts(tasks []hwt.TimerTask, delay time.Duration) ([]hwt.Timeout, error) {
	if slices.ContainsFunc(tasks, enginekit.IsNilTask) {
		return nil, hwt.ErrNilTask
	}
	if h.detailed {
		h.tracker.Record("NewTimeouts")
	}
	env, n := h.workers.env(), int64(len(tasks))
	if n == 0 {
		if h.stopping.Load() {
			return nil, hwt.ErrStopped
		}
		return nil, nil
	}
	deadline := env.clock.Deadline(delay) // before anything is counted, because Deadline may panic
	if env.limit.Max() > 0 {
		if err := h.reserve(n); err != nil {
			return nil, err
		}
	}
	timeouts, ok := h.push(tasks, deadline)
	if !ok {
		env.limit.Give(n)
		h.close()
		return nil, hwt.ErrStopped
	}
	return timeouts, nil
}

// push makes timeouts of the tasks and pushes the timeouts, unless the intakes are closed.
func (h *Handle) push(tasks []hwt.TimerTask, deadline int64) ([]hwt.Timeout, bool) {
	env := h.workers.env()
	caller := env.callers.Caller()
	timeouts := make([]hwt.Timeout, len(tasks))
	for i, task := range tasks {
		timeouts[i] = env.newTimeout(deadline, task, caller)
	}
	parts := h.workers.divide(timeouts)
	if !h.pushAll(parts) {
		return nil, false
	}
	for i := range parts {
		parts[i].drainOrAssist()
	}
	return timeouts, true
}

// pushAll pushes all parts. If the intakes are closed, pushAll pushes no part and returns
// false.
func (h *Handle) pushAll(parts []part) bool {
	if len(parts) > 1 {
		h.batching.RLock()
		defer h.batching.RUnlock()
	}
	for i := range parts {
		if !parts[i].push() {
			return false // only the first push can fail (S5)
		}
	}
	return true
}

// part is the part of a batch that one worker receives.
type part struct {
	core     *Core
	stripe   *stripe
	timeouts []hwt.Timeout
	last     int64 // the number of the last push
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
			t.(*Timeout).assign(home)
		}
		parts[i] = part{core: home.core, stripe: home.core.intake.of(mine[0].(*Timeout)), timeouts: mine}
	}
	return parts
}

// push pushes the part, unless the intake is closed.
func (p *part) push() (ok bool) {
	p.last, ok = p.stripe.pushBatch(func(yield func(*Timeout) bool) {
		for _, t := range p.timeouts {
			yield(t.(*Timeout))
		}
	}, int64(len(p.timeouts)))
	return ok
}

// drainOrAssist wakes the worker, and has the caller help if necessary. As callers of single
// pushes do, the caller helps until the stripe is within its bound (P1), but drains about as
// many timeouts as it has pushed, at most.
func (p *part) drainOrAssist() {
	c, s, n := p.core, p.stripe, int64(len(p.timeouts))
	if c.intake.phase.Load() != ticking {
		c.wakeWorker() // (S4)
	}
	if p.last/assistEvery != (p.last-n)/assistEvery {
		c.assistOrRest(s, true)
	}
	for left := n; left > 0 && s.backlog() > maxBacklog && c.intake.phase.Load() != stopped; left -= assistLen {
		c.assistOrRest(s, true)
	}
}
