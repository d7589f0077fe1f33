package runtimetimer

// Ground rules
//
// S1  A shard's mu guards its counts, its list, its entries, and every change of
//     the state of its timeouts. A timeout stays in one shard for life. No lock
//     is taken while holding one, and no user code runs under it.
// S2  A timeout is pending exactly as long as it has an entry, and that entry is
//     in the shard's list. It keeps its place there. What else is in the list are
//     the bookmarks of all.go.
// S3  An entry's goroutine may be on its way already when its timer is stopped or
//     set again. Set again: the entry counts it as stale, and one goroutine, no
//     matter which, finds the count and leaves. Stopped: the entry has no timeout
//     any more and is not used again, so the goroutine finds nothing.
// S4  An entry is used again only when no goroutine of it is on its way: its
//     timer was stopped in time, or that goroutine itself gives the entry back;
//     and nothing is stale. A runtime timer belongs to its synctest bubble, so
//     entries made in one are used once.
// S5  The runtime keeps a stopped timer in its heap for as long as it likes,
//     and with it the entry. Therefore an entry drops its timeout when that ends,
//     and the task with it can be collected at once.
//
// The races, and what settles them: expire, Cancel, Reset and Stop's drain all
// decide under mu by the timeout's state; NewTimeout against Stop is settled by
// the stopped flag, set before the first drain and read under mu.

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/internal/histogram"
)

const (
	shardsPerProc = 8 // make it unlikely that two processors want the same shard
	maxShards     = 1 << 12

	// maxFree is how many entries a shard keeps for reuse.
	maxFree = 64
)

// shard is one part of the set of pending timeouts.
type shard struct {
	timer *Timer // Immutable after New.

	mu      sync.Mutex
	pending entry  // Guarded by mu. Sentinel of the ring of entries that have a timeout.
	free    *entry // Guarded by mu. List, by next, of entries to use again.
	freeLen int    // Guarded by mu. Length of free.
	counts  counts // Guarded by mu.
	noticed int64  // Guarded by mu. Cancelled timeouts whose tasks get notice.

	running atomic.Int64 // Atomic: see running.go.
}

// counts are those of Stats.
type counts struct {
	accepted, expired, cancelled, unprocessed, resets int64

	lateness hwt.Histogram // of those that expired
}

func (c *counts) noteLate(late int64) {
	c.lateness.Counts[histogram.BucketOf(late)]++
	c.lateness.Sum += time.Duration(late)
}

func (c *counts) pending() int64 {
	return c.accepted - c.expired - c.cancelled - c.unprocessed
}

// entry is what a timeout has while it is pending: a runtime timer, and a place in
// its shard's list. Entries are used again, because the runtime timer and its
// function are most of what scheduling allocates.
type entry struct {
	shard      *shard      // Immutable.
	timer      *time.Timer // Immutable once made. Calls fire.
	timeout    *timeout    // Guarded by shard.mu. Nil when not in use, and of a bookmark.
	next, prev *entry      // Guarded by shard.mu.
	stale      int         // Guarded by shard.mu. Goroutines on their way for a time that is no longer set (S3).
}

func (s *shard) init(t *Timer) {
	s.timer = t
	s.pending.next, s.pending.prev = &s.pending, &s.pending
}

// add makes t pending, unless the timer was stopped.
func (s *shard) add(t *timeout, delay, deadline time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer.stopped.Load() {
		return false
	}
	s.insert(t, delay, deadline)
	return true
}

// insert makes t pending.
func (s *shard) insert(t *timeout, delay, deadline time.Duration) {
	s.counts.accepted++
	t.store(pendingUntil(deadline))
	t.entry = s.newEntry(t, delay)
}

// expire ends the timeout of e, whose goroutine has come, and returns it. It
// returns nil if there is nothing to run.
func (s *shard) expire(e *entry) *timeout {
	now := s.timer.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.stale > 0 {
		e.stale--
		return nil
	}
	t := e.timeout
	if t == nil {
		return nil
	}
	s.running.Add(1)
	s.counts.expired++
	s.counts.noteLate(now - int64(t.load().deadline()))
	s.end(t, expired)
	s.reuse(e)
	return t
}

// cancel ends t if it is pending.
func (s *shard) cancel(t *timeout) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := t.entry
	if e == nil {
		return false
	}
	if enginekit.WantsCancelled(t.task) {
		s.running.Add(1)
		s.noticed++
	}
	s.counts.cancelled++
	s.end(t, cancelled)
	if s.stop(e) {
		s.reuse(e)
	}
	return true
}

// reset gives t another deadline if it is pending.
func (s *shard) reset(t *timeout, delay time.Duration) bool {
	deadline := s.timer.deadline(delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := t.entry
	if e == nil {
		return false
	}
	t.store(pendingUntil(deadline))
	s.counts.resets++
	if !e.timer.Reset(delay) {
		e.stale++
	}
	return true
}

// drain cancels everything pending and appends it to unprocessed.
func (s *shard) drain(unprocessed []hwt.Timeout) []hwt.Timeout {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e, next := s.pending.next, (*entry)(nil); e != &s.pending; e = next {
		next = e.next
		t := e.timeout
		if t == nil { // a bookmark
			continue
		}
		s.counts.unprocessed++
		s.end(t, cancelled)
		s.stop(e)
		unprocessed = append(unprocessed, t)
	}
	s.free, s.freeLen = nil, 0
	return unprocessed
}

// given returns how many tasks and callbacks perform was called for, or is about to
// be.
func (s *shard) given() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts.expired + s.noticed
}

func (s *shard) addTo(stats *hwt.Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.Pending += s.counts.pending()
	stats.Accepted += s.counts.accepted
	stats.Expired += s.counts.expired
	stats.Cancelled += s.counts.cancelled
	stats.Unprocessed += s.counts.unprocessed
	stats.Resets += s.counts.resets
	stats.Lateness.Sum += s.counts.lateness.Sum
	for i, n := range s.counts.lateness.Counts {
		stats.Lateness.Counts[i] += n
	}
}

// newEntry returns an entry in the list that fires for t after delay.
func (s *shard) newEntry(t *timeout, delay time.Duration) *entry {
	e := s.free
	if e == nil {
		e = &entry{shard: s, timeout: t}
		s.link(e)
		e.timer = time.AfterFunc(delay, e.fire)
		return e
	}
	s.free = e.next
	s.freeLen--
	e.timeout = t
	s.link(e)
	e.timer.Reset(delay)
	return e
}

// end is the one place where a timeout stops being pending.
func (s *shard) end(t *timeout, how state) {
	e := t.entry
	e.unlink()
	e.timeout, t.entry = nil, nil
	t.store(t.load().ended(how)) // Linearization point of expire, Cancel and Stop for t.
	s.timer.limit.Give(1)
}

// link appends e to the list.
func (s *shard) link(e *entry) { e.linkBefore(&s.pending) }

func (e *entry) linkBefore(next *entry) {
	e.prev, e.next = next.prev, next
	e.prev.next, next.prev = e, e
}

func (e *entry) unlink() {
	e.next.prev, e.prev.next = e.prev, e.next
	e.next, e.prev = nil, nil
}

// stop stops the runtime timer of e. It returns false if a goroutine may be on its
// way.
func (s *shard) stop(e *entry) bool { return !s.timer.clock.Foreign() && e.timer.Stop() }

// reuse keeps e for another timeout, if it may be and is wanted (S4).
func (s *shard) reuse(e *entry) {
	if e.stale > 0 || s.freeLen == maxFree || s.timer.clock.Inside() {
		return
	}
	e.next = s.free
	s.free = e
	s.freeLen++
}

// fire is what the runtime calls, on a goroutine of its own.
func (e *entry) fire() {
	if t := e.shard.expire(e); t != nil {
		e.shard.perform(t, expired)
	}
}
