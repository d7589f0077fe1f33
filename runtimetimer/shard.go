package runtimetimer

// Ground rules
//
// S1  A shard's mu guards its counts, its list, its arms, and every change of
//     the state of its timeouts. A timeout stays in one shard for life. No lock
//     is taken while holding one, and no user code runs under it.
// S2  A timeout is pending exactly as long as it has an arm, and that arm is in
//     the shard's list.
// S3  An arm's goroutine may be on its way already when its timer is stopped or
//     set again. Set again: the arm counts it as stale, and one goroutine, no
//     matter which, finds the count and leaves. Stopped: the arm has no timeout
//     any more and is not used again, so whoever comes finds nothing.
// S4  An arm is used again only when no goroutine of it is on its way: its
//     timer was stopped in time, or it is that goroutine itself that gives the
//     arm back; and nothing is stale.
// S5  The runtime keeps a stopped timer in its heap for as long as it likes,
//     and with it the arm. Therefore an arm lets go of its timeout when that
//     ends, and the task with it is free for collection at once.
//
// The races, and what settles them: expire, Cancel, Reset and Stop's sweep all
// decide under mu by the timeout's state; NewTimeout against Stop is settled by
// the stopped flag, set before the first sweep and read under mu.

import (
	"math/bits"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
)

// spareArms is how many arms a shard keeps for reuse.
const spareArms = 64

// shardsPerProc makes it unlikely that two processors want the same shard.
const shardsPerProc = 8

// shard is one part of the set of pending timeouts.
type shard struct {
	timer *Timer // Immutable after New.

	mu      sync.Mutex
	pending arm   // Guarded by mu. Sentinel of the ring of arms that have a timeout.
	spare   *arm  // Guarded by mu. List, by next, of arms to use again.
	spares  int   // Guarded by mu. Length of spare.
	counts  tally // Guarded by mu.
}

// tally counts the ends of timeouts.
type tally struct{ accepted, expired, cancelled, unprocessed int64 }

func (c *tally) pending() int64 {
	return c.accepted - c.expired - c.cancelled - c.unprocessed
}

// arm is what a timeout has while it is pending: a runtime timer, and a place in
// its shard's list. Arms are used again, because the runtime timer and its
// function are most of what scheduling allocates.
type arm struct {
	shard      *shard      // Immutable.
	timer      *time.Timer // Immutable once made. Calls fire.
	timeout    *timeout    // Guarded by shard.mu. Nil when not in use.
	next, prev *arm        // Guarded by shard.mu.
	stale      int         // Guarded by shard.mu. Goroutines on their way for a time that is no longer set (S3).
}

// shardCount returns how many shards serve procs processors: a power of two.
func shardCount(procs int) int {
	return 1 << bits.Len(uint(procs*shardsPerProc-1))
}

func (s *shard) init(t *Timer) {
	s.timer = t
	s.pending.next, s.pending.prev = &s.pending, &s.pending
}

// add makes n pending, unless the timer was stopped.
func (s *shard) add(n *timeout, delay time.Duration) bool {
	deadline := s.timer.deadline(delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer.stopped.Load() {
		return false
	}
	s.counts.accepted++
	n.state.Store(pendingUntil(deadline))
	n.arm = s.armed(n, delay)
	return true
}

// expire ends the timeout of a whose goroutine has come, and returns it; nil if
// there is nothing to run.
func (s *shard) expire(a *arm) *timeout {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.stale > 0 {
		a.stale--
		return nil
	}
	n := a.timeout
	if n == nil {
		return nil
	}
	s.counts.expired++
	s.end(n, expired)
	s.reuse(a)
	return n
}

// cancel ends n if it is pending.
func (s *shard) cancel(n *timeout) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := n.arm
	if a == nil {
		return false
	}
	s.counts.cancelled++
	s.end(n, cancelled)
	if a.timer.Stop() {
		s.reuse(a)
	}
	return true
}

// reset gives n another deadline if it is pending.
func (s *shard) reset(n *timeout, delay time.Duration) bool {
	deadline := s.timer.deadline(delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := n.arm
	if a == nil {
		return false
	}
	n.state.Store(pendingUntil(deadline))
	if !a.timer.Reset(delay) {
		a.stale++
	}
	return true
}

// sweep cancels everything pending and appends it to unprocessed.
func (s *shard) sweep(unprocessed []hwt.Timeout) []hwt.Timeout {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a := s.pending.next; a != &s.pending; a = s.pending.next {
		n := a.timeout
		s.counts.unprocessed++
		s.end(n, cancelled)
		a.timer.Stop()
		unprocessed = append(unprocessed, n)
	}
	s.spare, s.spares = nil, 0
	return unprocessed
}

func (s *shard) addTo(stats *hwt.Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.Pending += s.counts.pending()
	stats.Accepted += s.counts.accepted
	stats.Expired += s.counts.expired
	stats.Cancelled += s.counts.cancelled
	stats.Unprocessed += s.counts.unprocessed
}

// armed returns an arm in the list that comes for n after delay.
func (s *shard) armed(n *timeout, delay time.Duration) *arm {
	a := s.spare
	if a == nil {
		a = &arm{shard: s, timeout: n}
		s.link(a)
		a.timer = time.AfterFunc(delay, a.fire)
		return a
	}
	s.spare = a.next
	s.spares--
	a.timeout = n
	s.link(a)
	a.timer.Reset(delay)
	return a
}

// end is the one place where a timeout stops being pending.
func (s *shard) end(n *timeout, how state) {
	a := n.arm
	a.next.prev, a.prev.next = a.prev, a.next
	a.next, a.prev = nil, nil
	a.timeout, n.arm = nil, nil
	n.state.Store(n.state.Load().ended(how)) // Linearization point of expire, Cancel and Stop for n.
	s.timer.limit.give()
}

func (s *shard) link(a *arm) {
	last := s.pending.prev
	a.prev, a.next = last, &s.pending
	last.next, s.pending.prev = a, a
}

// reuse keeps a for another timeout, if it may be and is wanted (S4).
func (s *shard) reuse(a *arm) {
	if a.stale > 0 || s.spares == spareArms {
		return
	}
	a.next = s.spare
	s.spare = a
	s.spares++
}

// fire is what the runtime calls, on a goroutine of its own.
func (a *arm) fire() {
	if n := a.shard.expire(a); n != nil {
		n.shard.timer.runner.Run(n, n.task)
	}
}
