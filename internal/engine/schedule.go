package engine

import (
	"sync/atomic"
	"unsafe"

	"github.com/hashedwheel/hwt/internal/cacheline"
	"github.com/hashedwheel/hwt/internal/engine/store"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// schedule is the wheel, its progress, and the draining of the intake. Guarded by Core.mu,
// except for atomic fields.
type schedule struct {
	timer    *setup         // Immutable after New.
	intake   *intake        // its queues are drained here (W4). Immutable after New.
	signal   *signal        // gets the results of the drains, for callers. Immutable after New.
	wheel    Wheel          // nil once Stop took it
	tick     int64          // the last processed
	earliest int64          // the first tick to which timeouts may be added: tick, or the next once tick has expired
	draining draining       // see there
	walks    walks          // see there
	early    early          // see there
	batch    [batchLen]move // scratch space for drainQueue; a field because a local would escape through Wheel

	orphans       []*Timeout  // that Stop took out of the intake, and events that it would find nowhere (E3)
	nextNotices   []*Timeout  // cancelled, with tasks to notify
	noticesClosed atomic.Bool // the worker takes no more of nextNotices. Atomic: written under mu, read by checkDone.

	// Atomic: written by the holder of mu, read by Stats.
	unprocessed   atomic.Int64 // timeouts that Stop ended
	ticks         atomic.Int64
	deferredTicks atomic.Int64
}

// draining is the worker's memory from one drain to the next. Guarded by Core.mu.
type draining struct {
	turn     int   // how many drains there were, so that each stripe comes first in its turn
	complete bool  // the latest one ended with an empty intake
	resumeAt int64 // while the worker is behind, the intake is left alone until then
	stale    bool  // since then the worker slept, or ran users' code
	arrivals int64 // timeouts taken out of the intake since the worker fell asleep, until it fired
	sleptAt  int64 // the time at which it fell asleep; -1 before the first time
	fired    bool  // it has run users' code since
}

// move is a timeout that has left a queue, and the tick at which it goes to the
// wheel. It leaves its present place in the wheel first, if it has one.
type move struct {
	timeout *Timeout
	tick    int64 // nowhere if it has ended
}

// nowhere is the tick of a timeout that is not added again.
const nowhere = -1

// batchLen is the number of timeouts that are drained together, so that the memory of
// one arrives while others are handled.
const batchLen = 32

// moveOf returns the move of t, whose word is w.
func (s *schedule) moveOf(t *Timeout, w enginekit.Word) move {
	if w.HasEnded() {
		return move{t, nowhere}
	}
	tick := s.timer.tickOf(w.Deadline())
	if tick < s.earliest && w.Deadline() == forever { // the clock is past forever, which never expires
		tick = s.earliest + tick - 1 // the clock ends before that
	}
	return move{t, max(tick, s.earliest)}
}

// storeBatch makes the moves. It returns how many of them go to the wheel.
func (s *schedule) storeBatch(batch []move) (waiting int) {
	s.prefetch(batch)
	for _, m := range batch {
		s.store(m)
		if m.tick != nowhere {
			waiting++
		}
	}
	clear(batch)
	return waiting
}

// prefetch asks for the memory that the moves need: the chunks that are left, then the
// first ones of their buckets, from which the holes are filled, the timeouts that fill
// them, and the first chunks of the buckets that are added to.
func (s *schedule) prefetch(batch []move) {
	held := s.wheel.Held()
	for _, m := range batch {
		held.PrefetchPlace(&m.timeout.node)
		if m.tick == nowhere {
			continue
		}
		if i, ok := s.wheel.Bucket(m.tick); ok {
			held.PrefetchBucket(i)
		}
	}
	for _, m := range batch {
		held.PrefetchFirst(&m.timeout.node)
	}
	for _, m := range batch {
		held.PrefetchFiller(&m.timeout.node)
	}
}

// store makes the move: the timeout waits in the wheel for its deadline, or it is
// removed. One in due stays there until firing ends (W5).
func (s *schedule) store(m move) {
	node := &m.timeout.node
	switch {
	case m.tick == nowhere:
		s.remove(m.timeout)
	case !node.IsAt(inDue):
		if node.Stored() {
			s.wheel.Remove(node)
		}
		s.wheel.Add(node, m.tick)
	}
}

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

// collectEarly moves the timeouts of the next tick that are due by now to due, if there
// are few in that tick (X1).
func (s *schedule) collectEarly(now int64, due []*store.Node) []*store.Node {
	tick := s.wheel.Next()
	if tick != s.tick+1 || !s.early.allowed(now) {
		return due
	}
	s.early.each(s.wheel, tick, s.timer.tickDur, func(n *store.Node, w enginekit.Word) {
		if w.Deadline() <= min(now, forever-1) {
			s.wheel.Remove(n)
			n.MoveTo(inDue)
			s.walks.Moved(n)
			due = append(due, n)
		}
	})
	if len(due) > 0 {
		s.early.spend(now)
	}
	return due
}

// nextLook returns the time at which the worker must look at the wheel next, and the first
// deadline for which that is soon enough: the end of the next occupied tick, which is soon
// enough for all of that tick, or the earliest deadline there if it holds few timeouts.
func (s *schedule) nextLook(now int64) (at, covers int64) {
	tick := s.wheel.Next()
	at = s.timer.timeOf(tick)
	if at == never {
		return at, s.timer.alarmFor(at)
	}
	first := at
	few := s.early.each(s.wheel, tick, s.timer.tickDur, func(_ *store.Node, w enginekit.Word) {
		first = min(first, w.Deadline())
	})
	if !few || !s.early.allowed(max(first, now)) { // at the deadline there may be credit again
		return at, s.timer.alarmFor(at)
	}
	return first, first
}

// time returns the time by which deadlines expire at this tick. The clock may reach
// forever, but a deadline that is forever never expires.
func (s *schedule) time() int64 { return min(s.tick*s.timer.tickDur, forever-1) }

// putBack stores the timeouts of due that are pending, and lets ended events leave due
// (E5). The current tick is over, so the next one is the earliest.
func (s *schedule) putBack(due []*store.Node) {
	for _, n := range due {
		t := timeoutOf(n)
		switch w := t.state.load(); {
		case !w.HasEnded():
			n.MoveTo(elsewhere)
			s.wheel.Add(n, s.moveOf(t, w).tick)
		case t.isEvent():
			n.MoveTo(elsewhere)
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
