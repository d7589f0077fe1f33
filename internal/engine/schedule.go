package engine

import (
	"unsafe"

	"github.com/hashedwheel/hwt/internal/cacheline"
	"github.com/hashedwheel/hwt/internal/engine/store"
)

// collect moves the timeouts of this tick from the wheel to due. Timeouts with a later
// deadline, because of a Reset or because the wheel stored them early, go back to the
// wheel.
func (s *schedule) collect(due []*store.Node) []*store.Node {
	due = s.wheel.Expire(due)
	now := s.time()
	kept := due[:0]
	for i, n := range due {
		prefetchTimeout(due, i+prefetchAhead)
		n.MoveTo(elsewhere)
		t := timeoutOf(n)
		switch w := t.state.load(); {
		case w.HasEnded(): // cancelled, and in a queue to be drained
		case w.Deadline() > now:
			s.store(s.moveOf(t, w))
		default:
			n.MoveTo(inDue)
			s.walks.Moved(n)
			kept = append(kept, n)
		}
	}
	clear(due[len(kept):])
	return kept
}

// time returns the time by which deadlines expire at this tick. The clock may reach
// forever, but a deadline that is forever never expires.
func (s *schedule) time() int64 { return min(s.tick*s.timer.tickDur, forever-1) }

// putBack stores the timeouts of due that are still pending. The current tick is over, so
// the next one is the earliest.
func (s *schedule) putBack(due []*store.Node) {
	for _, n := range due {
		t := timeoutOf(n)
		if w := t.state.load(); !w.HasEnded() {
			n.MoveTo(elsewhere)
			s.wheel.Add(n, s.moveOf(t, w).tick)
		}
	}
}

// prefetchAhead is the distance in timeouts at which memory is prefetched, so that it
// arrives in time. A timeout and its task were written when they were scheduled, long
// ago, and waiting for their memory was a large part of the cost of an expiry.
const prefetchAhead = 8

// prefetchTimeout loads the timeout at i of due, and the line behind it, which may hold
// the rest of it.
func prefetchTimeout(due []*store.Node, i int) {
	if i < len(due) {
		cacheline.PrefetchPair(unsafe.Pointer(due[i]))
	}
}
