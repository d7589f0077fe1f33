package engine

import (
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine/store"
)

// Ground rules
//
// All walks through the wheel and through due in batches. Between two batches the loop's
// body runs without mu, and timeouts move: to another bucket, to due and back.
//
//	A1. Each walk has one bit in the marks of every timeout. While the bit is as in
//	    seen, the walk has seen the timeout, so it yields each at most once. To begin,
//	    a walk flips its bit of seen; before, it has seen every pending timeout. Every
//	    walk counts a timeout as seen that leaves the intake for the wheel: before it
//	    begins, a walk drains the intake, oldest first, however much others push and
//	    cancel meanwhile.
//	A2. If a timeout moves that a walk has not seen, the move shows it to the walk. If
//	    the walk has no room, it makes another pass.
//	A3. Therefore a walk is complete: at the end of its last pass, a timeout that it
//	    has not seen would have stayed all along in a place where the pass looked. And
//	    it ends: the unseen timeouts only become fewer, and another pass means that it
//	    saw a batch of them.

const (
	minWalkBatch = 16   // timeouts that a walk takes at first, so that a short look is cheap
	maxWalkBatch = 1024 // timeouts that it takes or passes while it holds mu
)

// marks are a bit for each walk there may be.
type marks uint16

// copying is the bit of walks that find all others in use; see copyAll.
const copying marks = 1 << 15

// walks are the walks under way. Guarded by Core.mu, except turns.
type walks struct {
	seen     marks      // the marks of a timeout that every walk has seen
	used     marks      // bits of the walks under way
	broken   marks      // bits of walks that ended before they had seen everything
	underWay []*walk    // in no particular order
	turns    sync.Mutex // held by the walk that uses copying
}

// walk is one iteration over the pending timeouts. Guarded by Core.mu.
type walk struct {
	core  *Core
	bit   marks
	room  int          // for timeouts in found
	found []*Timeout   // seen, and not yet handed out
	again bool         // one more pass is needed (A2)
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
	if bit := c.takeBit(); bit != 0 {
		return c.walk(bit, func(batch []*Timeout) bool { return yieldPending(batch, yield) })
	}
	return yieldPending(c.copyAll(), yield)
}

// yieldPending yields those that have not ended, until yield returns false.
func yieldPending(timeouts []*Timeout, yield func(hwt.Timeout) bool) bool {
	for _, t := range timeouts {
		if !t.state.load().HasEnded() && !yield(t) {
			return false
		}
	}
	return true
}

// copyAll returns the pending timeouts. Walks beyond those with a bit take turns with
// one, which they hold while no users' code runs.
func (c *Core) copyAll() (all []*Timeout) {
	c.schedule.walks.turns.Lock()
	defer c.schedule.walks.turns.Unlock()
	c.walk(copying, func(batch []*Timeout) bool {
		all = append(all, batch...)
		return true
	})
	return all
}

// takeBit takes a free bit, preferably the lowest one whose last walk saw everything.
// It returns 0 if all are used.
func (c *Core) takeBit() marks {
	c.mu.Lock()
	defer c.mu.Unlock()
	free := ^(c.schedule.walks.used | copying)
	if clean := free &^ c.schedule.walks.broken; clean != 0 {
		free = clean
	}
	bit := free & -free
	c.schedule.walks.used |= bit
	return bit
}

// walk calls each with batches of pending timeouts until it returns false. walk returns
// the last result.
func (c *Core) walk(bit marks, each func(batch []*Timeout) bool) bool {
	for i := range c.intake.stripes {
		c.drainBacklog(&c.intake.stripes[i])
	}
	w := &walk{core: c, bit: bit, room: minWalkBatch}
	broken := w.enter()
	defer w.leave()
	if broken {
		w.run(func([]*Timeout) bool { return true })
	}
	w.flip()
	return w.run(each)
}

// enter makes w known, so that moves are reported to it. It returns true if the
// latest walk with its bit left something unseen.
func (w *walk) enter() (broken bool) {
	c := w.core
	c.mu.Lock()
	defer c.mu.Unlock()
	c.schedule.walks.underWay = append(c.schedule.walks.underWay, w)
	if c.schedule.wheel != nil {
		c.schedule.wheel.Held().Watcher = &c.schedule.walks
	}
	w.startPass()
	return c.schedule.walks.broken&w.bit != 0
}

// flip begins the walk proper (A1).
func (w *walk) flip() {
	w.core.mu.Lock()
	defer w.core.mu.Unlock()
	w.core.schedule.walks.seen ^= w.bit
	w.done = false
	w.startPass()
}

// leave gives the bit back.
func (w *walk) leave() {
	c := w.core
	c.mu.Lock()
	defer c.mu.Unlock()
	ws := &c.schedule.walks
	ws.used &^= w.bit
	ws.broken &^= w.bit
	if !w.done {
		ws.broken |= w.bit
	}
	ws.underWay = slices.DeleteFunc(ws.underWay, func(other *walk) bool { return other == w })
	if len(ws.underWay) == 0 && c.schedule.wheel != nil {
		c.schedule.wheel.Held().Watcher = nil
	}
}

// run calls each with the rest of the walk until it returns false. run returns the last
// result.
func (w *walk) run(each func(batch []*Timeout) bool) bool {
	var batch []*Timeout
	for {
		more := true
		for batch = batch[:0]; len(batch) == 0; {
			if batch, more = w.next(batch); !more {
				return true
			}
		}
		if !each(batch) {
			return false
		}
		clear(batch)
	}
}

// next returns the timeouts found so far in exchange for an empty batch. It returns
// false at the end of the walk.
func (w *walk) next(batch []*Timeout) ([]*Timeout, bool) {
	c := w.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schedule.wheel == nil { // Stop ended all there was
		w.done = true
		return nil, false
	}
	for passed := 0; passed < w.room && len(w.found)+store.MaxVisit <= w.room && !w.done; {
		passed += w.step()
	}
	batch, w.found = w.found, batch
	w.room = min(2*w.room, maxWalkBatch)
	return batch, len(batch) > 0 || !w.done
}

// step takes the pass past a part of the wheel, or as much of due. It returns the cost: a
// timeout counts, and so does a chunk or single.
func (w *walk) step() int {
	c := w.core
	if cost, ok := c.schedule.wheel.Held().Visit(&w.at, w.look); ok {
		return cost
	}
	switch {
	case w.tick == c.schedule.tick && w.due < len(c.firing.due):
		rest := c.firing.due[w.due:]
		rest = rest[:min(len(rest), store.MaxVisit)]
		for _, n := range rest {
			w.look(n)
		}
		w.due += len(rest)
	case w.again:
		w.startPass()
	default:
		w.done = true
	}
	return store.MaxVisit
}

func (w *walk) startPass() {
	w.again, w.at, w.due, w.tick = false, store.Cursor{}, 0, w.core.schedule.tick
}

// look sees n, unless w has seen it.
func (w *walk) look(n *store.Node) {
	if w.isNew(n) {
		w.see(n)
	}
}

// isNew reports whether w has not seen n.
func (w *walk) isNew(n *store.Node) bool {
	return (marks(n.Marks)^w.core.schedule.walks.seen)&w.bit != 0
}

func (w *walk) see(n *store.Node) {
	n.Marks ^= uint16(w.bit)
	w.found = append(w.found, timeoutOf(n))
}

// Moved implements store.Watcher: the walks find n, which has another place now (A2).
func (ws *walks) Moved(n *store.Node) {
	for _, w := range ws.underWay {
		switch {
		case !w.isNew(n):
		case len(w.found) < w.room:
			w.see(n)
		default:
			w.again = true
		}
	}
}

// drainBacklog drains the timeouts that were pushed to s before the call (A1).
func (c *Core) drainBacklog(s *stripe) {
	for left := int64(math.MaxInt64); left > 0; {
		left = c.drainSome(s, left)
	}
}

// drainSome drains some new timeouts of s, and returns the number that remains of the
// oldest left ones. Newer timeouts that had already ended do not count: they leave the
// queue before older ones.
func (c *Core) drainSome(s *stripe, left int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	left = min(left, s.backlog())
	if c.schedule.wheel == nil || s.added.Empty() {
		return 0
	}
	c.catchUp()
	b := budget{room: maxWalkBatch, until: never}
	c.schedule.drainAdded(s, &b)
	return left - int64(b.popped)
}
