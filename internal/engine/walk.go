package engine

import (
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine/store"
	"github.com/hashedwheel/hwt/mpsc"
)

// Ground rules
//
// A loop over All runs users' code, which may take long and call the timer, so mu cannot be
// held during the loop. A copy of all pending timeouts would take memory in proportion to them.
// A walk therefore takes batches, and has to find each timeout once although timeouts move
// between the batches. Timeouts carry marks for this: memory that was padding before.
//
// All walks through the wheel and through due in batches. Between two batches
// the loop's body runs without mu, and timeouts move: to another bucket, to due and back.
//
//	A1. Each walk has one bit in the marks of every timeout. While the bit is as in seen, the
//	    walk has seen the timeout, so it yields each at most once. To begin, a walk flips its
//	    bit of seen; before, it has seen every pending timeout. Every walk counts a timeout as
//	    seen that leaves the intake, and was in neither the wheel nor due: before it begins, a
//	    walk drains the intake, oldest first, however much other goroutines push and cancel at
//	    the same time.
//	A2. If a timeout moves that a walk has not seen, the move shows it to the walk. If
//	    the walk has no room, it makes another pass.
//	A3. A walk is complete, because of A1 and A2: at the end of its last pass, a timeout that it
//	    has not seen would have stayed all along in a place where the pass looked. And it ends:
//	    the unseen timeouts only become fewer, and another pass means that it saw a batch of
//	    them.

const (
	minWalkBatch = 16   // timeouts that a walk takes at first, so that a short look is cheap
	maxWalkBatch = 1024 // timeouts that a walk takes or passes under mu
)

// marks are a bit for each walk there may be.
type marks uint16

// copying is the bit of walks that find all others in use; see copyAll.
const copying marks = 1 << 15

// walks are the walks under way. Guarded by Core.mu, except turns.
type walks struct {
	seen     marks      // the marks of a timeout that every walk has seen
	used     marks      // bits of the walks under way
	broken   marks      // bits of walks that ended before having seen everything
	underWay []*sight   // in no particular order
	turns    sync.Mutex // held by the walk that uses copying
}

// sight is the part of a walk that moves are shown to. Guarded by Core.mu.
type sight struct {
	walks *walks // Immutable.
	bit   marks  // Immutable.
	room  int    // for timeouts in found
	found []*Timeout
	again bool // one more pass is needed (A2)
}

// takeBit takes a free bit. takeBit prefers the lowest bit with a last walk that saw
// everything, and returns 0 if all bits are used.
func (ws *walks) takeBit() marks {
	free := ^(ws.used | copying)
	if clean := free &^ ws.broken; clean != 0 {
		free = clean
	}
	bit := free & -free
	ws.used |= bit
	return bit
}

// enter makes s known, so that moves are shown to s. enter returns true if the latest walk
// with its bit left something unseen.
func (ws *walks) enter(s *sight) (broken bool) {
	ws.underWay = append(ws.underWay, s)
	return ws.broken&s.bit != 0
}

// leave gives the bit back. complete says whether the walk saw everything. leave returns
// false if no walk is left.
func (ws *walks) leave(s *sight, complete bool) (more bool) {
	ws.used &^= s.bit
	ws.broken &^= s.bit
	if !complete {
		ws.broken |= s.bit
	}
	ws.underWay = slices.DeleteFunc(ws.underWay, func(other *sight) bool { return other == s })
	return len(ws.underWay) > 0
}

// flip begins the walk with the given bit: all timeouts become unseen (A1).
func (ws *walks) flip(bit marks) { ws.seen ^= bit }

// Moved implements store.Watcher. n has another place now, and the walks find n (A2).
func (ws *walks) Moved(n *store.Node) {
	for _, s := range ws.underWay {
		switch {
		case !s.isNew(n):
		case len(s.found) < s.room:
			s.see(n)
		default:
			s.again = true
		}
	}
}

// look sees n, unless the walk has seen n.
func (s *sight) look(n *store.Node) {
	if s.isNew(n) {
		s.see(n)
	}
}

// isNew reports whether the walk has not seen n.
func (s *sight) isNew(n *store.Node) bool { return (marks(n.Marks)^s.walks.seen)&s.bit != 0 }

func (s *sight) see(n *store.Node) {
	n.Marks ^= uint16(s.bit)
	s.found = append(s.found, timeoutOf(n))
}

// walk is one iteration over the pending timeouts; see the ground rules above.
// Guarded by Core.mu.
type walk struct {
	core  *Core
	sight sight        // the timeouts found so far
	done  bool         // everything was seen
	at    store.Cursor // of this pass in the wheel
	due   int          // the number of timeouts of due that the pass has seen
	tick  int64        // the current one when the pass began, and due was filled
}

// All yields the pending timeouts; see the engines.
func (h *Handle) All() iter.Seq[hwt.Timeout] {
	h.workers.env()
	return func(yield func(hwt.Timeout) bool) {
		for i := range h.workers {
			if !h.workers[i].core.all(yield) {
				return
			}
		}
	}
}

// all yields the pending timeouts until yield returns false. all returns the last result of
// yield.
func (c *Core) all(yield func(hwt.Timeout) bool) bool {
	c.mu.Lock()
	bit := c.schedule.walks.takeBit()
	c.mu.Unlock()
	if bit == 0 {
		return yieldPending(copyAll(c), yield)
	}
	return newWalk(c, bit).each(func(batch []*Timeout) bool { return yieldPending(batch, yield) })
}

// yieldPending yields the timeouts that have not ended, until yield returns false.
func yieldPending(timeouts []*Timeout, yield func(hwt.Timeout) bool) bool {
	for _, t := range timeouts {
		if !t.state.load().HasEnded() && !yield(t.handle()) {
			return false
		}
	}
	return true
}

// copyAll returns the pending timeouts. Walks without a bit take turns with the bit copying. A
// walk does not hold that bit while users' code runs.
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
	w.core.schedule.walks.flip(w.sight.bit)
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

// next returns the timeouts found so far in exchange for an empty batch. next returns false
// at the end of the walk.
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

// step takes the pass past a part of the wheel, or as much of due. step returns the cost: a
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

// drainSome drains some timeouts of q, a queue of s, and returns the rest of left, the
// number of oldest timeouts to drain. Newer timeouts that had already ended do not count:
// they leave added before older timeouts.
func (w *walk) drainSome(s *stripe, q *mpsc.Queue[Timeout], left int64) int64 {
	c := w.core
	c.mu.Lock()
	defer c.mu.Unlock()
	left = min(left, s.backlog())
	if q.Empty() || !c.catchUp() {
		return 0
	}
	return left - int64(c.schedule.drainSome(s, q, maxWalkBatch))
}
