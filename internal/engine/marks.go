package engine

import (
	"slices"
	"sync"

	"github.com/hashedwheel/hwt/internal/engine/store"
)

// Ground rules
//
// All walks through the wheel and through due in batches (walk.go). Between two batches
// the loop's body runs without mu, and timeouts move: to another bucket, to due and back.
//
//	A1. Each walk has one bit in the marks of every timeout. While the bit is as in
//	    seen, the walk has seen the timeout, so it yields each at most once. To begin,
//	    a walk flips its bit of seen; before, it has seen every pending timeout. Every
//	    walk counts a timeout as seen that leaves the intake, and was in neither the
//	    wheel nor due: before it begins, a walk drains the intake, oldest first, however
//	    much others push and cancel meanwhile.
//	A2. If a timeout moves that a walk has not seen, the move shows it to the walk. If
//	    the walk has no room, it makes another pass.
//	A3. Therefore a walk is complete: at the end of its last pass, a timeout that it
//	    has not seen would have stayed all along in a place where the pass looked. And
//	    it ends: the unseen timeouts only become fewer, and another pass means that it
//	    saw a batch of them.

// marks are a bit for each walk there may be.
type marks uint16

// copying is the bit of walks that find all others in use; see copyAll.
const copying marks = 1 << 15

// walks are the walks under way. Guarded by Core.mu, except turns.
type walks struct {
	seen     marks      // the marks of a timeout that every walk has seen
	used     marks      // bits of the walks under way
	broken   marks      // bits of walks that ended before they had seen everything
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

// takeBit takes a free bit, preferably the lowest one whose last walk saw everything.
// It returns 0 if all are used.
func (ws *walks) takeBit() marks {
	free := ^(ws.used | copying)
	if clean := free &^ ws.broken; clean != 0 {
		free = clean
	}
	bit := free & -free
	ws.used |= bit
	return bit
}

// enter makes s known, so that moves are shown to it. It returns true if the latest walk
// with its bit left something unseen.
func (ws *walks) enter(s *sight) (broken bool) {
	ws.underWay = append(ws.underWay, s)
	return ws.broken&s.bit != 0
}

// leave gives the bit back. complete says whether the walk saw everything. It returns
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

// Moved implements store.Watcher: the walks find n, which has another place now (A2).
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

// look sees n, unless the walk has seen it.
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
