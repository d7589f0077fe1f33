package engine

import (
	"iter"
	"math"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine/store"
	"github.com/hashedwheel/hwt/mpsc"
)

const (
	minWalkBatch = 16   // timeouts that a walk takes at first, so that a short look is cheap
	maxWalkBatch = 1024 // timeouts that it takes or passes while it holds mu
)

// walk is one iteration over the pending timeouts; see the ground rules of marks.go.
// Guarded by Core.mu.
type walk struct {
	core  *Core
	sight sight        // the timeouts found so far
	done  bool         // everything was seen
	at    store.Cursor // of this pass in the wheel
	due   int          // how many timeouts of due it has come past
	tick  int64        // the current one when the pass began, and due was filled
}

// All yields the pending timeouts; see the engines.
func (h *Handle) All() iter.Seq[hwt.Timeout] {
	return func(yield func(hwt.Timeout) bool) {
		for i := range h.workers {
			if !h.workers[i].core.all(yield) {
				return
			}
		}
	}
}

// all yields the pending timeouts until yield returns false, which it returns then.
func (c *Core) all(yield func(hwt.Timeout) bool) bool {
	c.mu.Lock()
	bit := c.schedule.walks.takeBit()
	c.mu.Unlock()
	if bit == 0 {
		return yieldPending(copyAll(c), yield)
	}
	return newWalk(c, bit).each(func(batch []*Timeout) bool { return yieldPending(batch, yield) })
}

// yieldPending yields those that have not ended, until yield returns false.
func yieldPending(timeouts []*Timeout, yield func(hwt.Timeout) bool) bool {
	for _, t := range timeouts {
		if !t.state.load().HasEnded() && !yield(t.handle()) {
			return false
		}
	}
	return true
}

// copyAll returns the pending timeouts. Walks beyond those with a bit take turns with
// one, which they hold while no users' code runs.
func copyAll(c *Core) (all []*Timeout) {
	c.schedule.walks.turns.Lock()
	defer c.schedule.walks.turns.Unlock()
	newWalk(c, copying).each(func(batch []*Timeout) bool {
		all = append(all, batch...)
		return true
	})
	return all
}

func newWalk(c *Core, bit marks) *walk {
	return &walk{core: c, sight: sight{walks: &c.schedule.walks, bit: bit, room: minWalkBatch}}
}

// each calls f with batches of pending timeouts until it returns false. each returns the
// last result.
func (w *walk) each(f func(batch []*Timeout) bool) bool {
	for i := range w.core.intake.stripes {
		w.drainBacklog(&w.core.intake.stripes[i])
	}
	broken := w.enter()
	defer w.leave()
	if broken {
		w.run(func([]*Timeout) bool { return true })
	}
	w.flip()
	return w.run(f)
}

// enter has moves shown to w. It returns true if the latest walk with its bit left
// something unseen.
func (w *walk) enter() (broken bool) {
	c := w.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schedule.wheel != nil {
		c.schedule.wheel.Held().Watcher = &c.schedule.walks
	}
	w.startPass()
	return c.schedule.walks.enter(&w.sight)
}

// flip begins the walk proper (A1).
func (w *walk) flip() {
	w.core.mu.Lock()
	defer w.core.mu.Unlock()
	w.core.schedule.walks.seen ^= w.sight.bit
	w.done = false
	w.startPass()
}

// leave gives the bit back.
func (w *walk) leave() {
	c := w.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if more := c.schedule.walks.leave(&w.sight, w.done); !more && c.schedule.wheel != nil {
		c.schedule.wheel.Held().Watcher = nil
	}
}

// run calls f with the rest of the walk until it returns false. run returns the last
// result.
func (w *walk) run(f func(batch []*Timeout) bool) bool {
	var batch []*Timeout
	for {
		more := true
		for batch = batch[:0]; len(batch) == 0; {
			if batch, more = w.next(batch); !more {
				return true
			}
		}
		if !f(batch) {
			return false
		}
		clear(batch)
	}
}

// next returns the timeouts found so far in exchange for an empty batch. It returns
// false at the end of the walk.
func (w *walk) next(batch []*Timeout) ([]*Timeout, bool) {
	c, s := w.core, &w.sight
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schedule.wheel == nil { // Stop ended all there was
		w.done = true
		return nil, false
	}
	for passed := 0; passed < s.room && len(s.found)+store.MaxVisit <= s.room && !w.done; {
		passed += w.step()
	}
	batch, s.found = s.found, batch
	s.room = min(2*s.room, maxWalkBatch)
	return batch, len(batch) > 0 || !w.done
}

// step takes the pass past a part of the wheel, or as much of due. It returns the cost: a
// timeout counts, and so does a chunk or single.
func (w *walk) step() int {
	c := w.core
	if cost, ok := c.schedule.wheel.Held().Visit(&w.at, w.sight.look); ok {
		return cost
	}
	switch {
	case w.tick == c.schedule.tick && w.due < len(c.firing.due):
		rest := c.firing.due[w.due:]
		rest = rest[:min(len(rest), store.MaxVisit)]
		for _, n := range rest {
			w.sight.look(n)
		}
		w.due += len(rest)
	case w.sight.again:
		w.startPass()
	default:
		w.done = true
	}
	return store.MaxVisit
}

func (w *walk) startPass() {
	w.sight.again, w.at, w.due, w.tick = false, store.Cursor{}, 0, w.core.schedule.tick
}

// drainBacklog drains the timeouts that were pushed to s before the call (A1).
func (w *walk) drainBacklog(s *stripe) {
	for _, q := range []*mpsc.Queue[Timeout]{&s.added, &s.changed} {
		for left := int64(math.MaxInt64); left > 0; {
			left = w.drainSome(s, q, left)
		}
	}
}

// drainSome drains some timeouts of q, a queue of s, and returns the number that remains
// of the oldest left ones. Newer timeouts that had already ended do not count: they leave
// added before older ones.
func (w *walk) drainSome(s *stripe, q *mpsc.Queue[Timeout], left int64) int64 {
	c := w.core
	c.mu.Lock()
	defer c.mu.Unlock()
	left = min(left, s.backlog())
	if q.Empty() || !c.catchUp() {
		return 0
	}
	b := budget{room: maxWalkBatch, until: never}
	if q == &s.added {
		c.schedule.drainAdded(s, &b)
	} else {
		c.schedule.drainChanged(s, &b)
	}
	return left - int64(b.popped)
}
