package runtimetimer

// Ground rules
//
// A stopped runtime timer may already have started its goroutine, and the runtime does not say
// which call a goroutine belongs to. New runtime timers would avoid the question, but they and
// their functions are most of the memory of a timeout. The rules let entries, with their runtime
// timers, be reused although a goroutine of an earlier use may still arrive.
//
// S1  A shard's mu guards its counts, its list, its entries, and every change of
//     its timeouts' states. A timeout stays in one shard for life. No second lock
//     is taken under mu, and no user code runs under it.
// S2  A timeout is pending exactly while it has an entry, and the entry is then in
//     the shard's list, always at the same place. The list also holds the bookmarks
//     of all.go.
// S3  The goroutine of an entry may already be on its way when the runtime timer is
//     stopped or reset. On a reset, the entry counts one stale goroutine; the first
//     goroutine to arrive takes the count down and returns. On a stop, the entry has
//     no timeout any more and is not reused, so the goroutine returns.
// S4  An entry is reused only when all of its goroutines have arrived: its runtime
//     timer was stopped in time, or the last goroutine returns the entry, and the
//     count of stale goroutines is zero. A runtime timer belongs to its synctest bubble,
//     so an entry made in a bubble is used once.
// S5  The runtime may keep a stopped timer in its heap, and with it the entry. An entry
//     drops its timeout when the timeout ends, so that the collector can free the task.
// S6  expire reads the clock under mu. The last goroutine to arrive comes after the
//     latest deadline (S3), so the lateness is never negative.
// S7  Stop waits for goroutines that are on their way and find nothing to run, as it does
//     for tasks. The shard counts such a goroutine when a runtime timer is stopped or
//     reset too late, until the goroutine has arrived. From outside a bubble, a runtime timer
//     cannot be stopped, and its goroutine is not counted.
//
// Races: expire, Cancel, Reset and Stop's drain decide under mu by the timeout's state.
// NewTimeout against Stop is decided by the stopped flag. The flag is set before the first
// drain and read under mu.

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/embedded"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/internal/histogram"
)

const (
	shardsPerProc = 8 // two processors seldom use the same shard
	maxShards     = 1 << 12
	maxFree       = 64 // entries that a shard keeps for reuse
)

// shard holds a part of the pending timeouts.
type shard struct {
	embedded.Home[hwt.Event, hwt.Timeout] // First: events refer to it. Immutable after New.

	timer *Timer // Immutable after New.

	mu       sync.Mutex
	pending  entry  // Sentinel of the ring of entries that have a timeout. Guarded by mu.
	free     *entry // List, by next, of entries to reuse. Guarded by mu.
	freeLen  int    // Length of free. Guarded by mu.
	counts   counts // Guarded by mu.
	notified int64  // Cancelled timeouts with a CancelledTask. Guarded by mu.

	running atomic.Int64 // Tasks and callbacks in progress. Atomic: see running.go.
	coming  atomic.Int64 // Goroutines on their way, of all entries (S7). Atomic: as running.
}

// counts are counts of Stats.
type counts struct {
	accepted, expired, cancelled, unprocessed, resets int64

	lateness hwt.Histogram // of expired timeouts
}

func (c *counts) noteLate(late int64) {
	c.lateness.Counts[histogram.BucketOf(late)]++
	c.lateness.Sum += time.Duration(late)
}

// entry gives a pending timeout a runtime timer and a place in the shard's list. Entries
// are reused, because the runtime timer and the function make up most of the memory that
// scheduling allocates.
type entry struct {
	shard      *shard      // Immutable.
	timer      *time.Timer // Calls fire. Immutable once made.
	timeout    *timeout    // nil in a free entry and in a bookmark. Guarded by shard.mu.
	next, prev *entry      // Guarded by shard.mu.
	stale      int32       // Goroutines on their way for a deadline that was reset (S3). Guarded by shard.mu.
	coming     int32       // Goroutines on their way that find nothing to run (S7). Guarded by shard.mu.
}

func (s *shard) init(t *Timer) {
	s.timer, s.Host = t, s
	s.pending.next, s.pending.prev = &s.pending, &s.pending
}

// lock locks mu and returns the time left until deadline. That is less than delay if another
// call held mu.
func (s *shard) lock(delay time.Duration, deadline int64) time.Duration {
	if s.mu.TryLock() {
		return delay // without a reading of the clock
	}
	s.mu.Lock()
	return s.left(deadline)
}

// left returns the time until deadline.
func (s *shard) left(deadline int64) time.Duration {
	return time.Duration(deadline - s.timer.clock.Now())
}

// add makes t pending, unless the timer was stopped.
func (s *shard) add(t *timeout, delay time.Duration, deadline int64) bool {
	delay = s.lock(delay, deadline)
	defer s.mu.Unlock()
	if s.timer.stopped.Load() {
		return false
	}
	s.checkSide(1)
	s.insert(t, delay, deadline)
	return true
}

// checkSide panics if one of n timeouts with places in the limit would get a new runtime timer,
// because that would belong to the caller's bubble. Deadline detects other bubbles, but not a
// bubble with a time that the clock could have. Guarded by mu.
func (s *shard) checkSide(n int64) {
	if n > int64(s.freeLen) && s.timer.clock.Apart() {
		s.timer.limit.Give(n)
		s.timer.clock.CheckSide()
	}
}

// insert makes t pending.
func (s *shard) insert(t *timeout, delay time.Duration, deadline int64) {
	s.counts.accepted++
	t.store(enginekit.PendingWord(deadline))
	t.entry = s.newEntry(t, delay)
}

// expire is called by a goroutine of e. expire ends the timeout of e and returns the
// timeout, or returns nil if there is no task to run.
func (s *shard) expire(e *entry) *timeout {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.timer.clock.Now() // S6
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
	s.counts.noteLate(now - t.load().Deadline())
	s.end(t, t.load().Expired())
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
	if t.wantsNotice() {
		s.running.Add(1)
		s.notified++
	}
	s.counts.cancelled++
	s.end(t, t.load().Cancelled())
	if s.stop(e) {
		s.reuse(e)
	}
	return true
}

// reset gives t another deadline, after delay, if t is pending.
func (s *shard) reset(t *timeout, delay time.Duration, deadline int64) bool {
	delay = s.lock(delay, deadline)
	defer s.mu.Unlock()
	if t.entry == nil {
		return false
	}
	s.move(t, delay, deadline)
	return true
}

// move gives a pending timeout another deadline. Guarded by mu.
func (s *shard) move(t *timeout, delay time.Duration, deadline int64) {
	t.store(enginekit.PendingWord(deadline)) // Linearization point of Reset, and of an Arm of a pending event.
	s.counts.resets++
	if e := t.entry; !e.timer.Reset(delay) {
		e.stale++
		s.expect(e)
	}
}

// drain cancels the pending timeouts and appends them to unprocessed.
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
		s.end(t, t.load().Cancelled())
		s.stop(e)
		unprocessed = append(unprocessed, t.handle())
	}
	s.free, s.freeLen = nil, 0
	return unprocessed
}

// submitted returns the number of past and imminent calls of perform.
func (s *shard) submitted() int64 {
	return s.read(func(c *counts) int64 { return c.expired + s.notified })
}

// read returns a sum of counts.
func (s *shard) read(sum func(*counts) int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sum(&s.counts)
}

// addTo adds all counts but the accepted timeouts.
func (s *shard) addTo(stats *hwt.Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// end makes a pending timeout an ended one, with the given word.
func (s *shard) end(t *timeout, word enginekit.Word) {
	e := t.entry
	e.unlink()
	e.timeout, t.entry = nil, nil
	t.store(word) // Linearization point of expiry, Cancel and Stop for t.
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

// stop stops the runtime timer of e. stop returns false if a goroutine of e may be on the
// way.
func (s *shard) stop(e *entry) bool {
	if s.timer.clock.Foreign() {
		return false
	}
	stopped := e.timer.Stop()
	if !stopped {
		s.expect(e)
	}
	return stopped
}

// expect counts a goroutine of e that is on its way and finds nothing to run. Guarded by mu.
func (s *shard) expect(e *entry) {
	e.coming++
	s.coming.Add(1)
}

// arrive counts that a goroutine of e found nothing to run, if it was expected.
func (s *shard) arrive(e *entry) {
	s.mu.Lock()
	expected := e.coming > 0
	if expected {
		e.coming--
	}
	s.mu.Unlock()
	if expected {
		s.coming.Add(-1)
		s.timer.checkDrained()
	}
}

// reuse keeps e for another timeout, if S4 allows it and the shard has too few.
func (s *shard) reuse(e *entry) {
	if e.stale > 0 || s.freeLen == maxFree || s.timer.clock.Inside() {
		return
	}
	e.next = s.free
	s.free = e
	s.freeLen++
}

// fire is called by the runtime, on a new goroutine.
func (e *entry) fire() {
	if t := e.shard.expire(e); t != nil {
		e.shard.perform(t, t.shard.timer.runner.Run)
	} else {
		e.shard.arrive(e)
	}
}
