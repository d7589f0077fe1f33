package clock

import (
	"runtime"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
)

// Ground rules
//
// A flock is the tickers of one period. Whoever ticked is due again one period
// later, so a flock is a queue in the order of due times, and one timeout, for
// its front, is enough for all. A ring of the queue is:
//
//	ring    who was due or had joined by the latest firing: due no later than one
//	        period after it
//	late    who joined since then: due later than that, in the order of joining
//
//	F1. ring and late are in order, and ring before late, so that ring followed by
//	    late is the queue. During a firing, ring is turned: it begins with who is
//	    next, and ends with who has ticked.
//	F2. A firing uses one reading of the clock, and ticks who is due by then. After
//	    that they are not: so it ends, however short the period, and when the ring
//	    has come round, its head says so.
//	F3. A tick moves nobody: a ring is circular, so that with the head moved on who
//	    ticked is at the back. That is its place, as the others in ring are due
//	    within a period of the firing before, and it was due after that firing. Only
//	    with ticks missed, or one of late due as well, it may not be; then everybody
//	    in ring has ticked, and the end of the firing sorts them.
//	F4. The end of a firing merges those of late that were due to join by its reading
//	    with who ticked, at the back of ring, and no more: who joined after the
//	    reading may be due after somebody who ticks in the next firing.
//	F5. mu is held for a batch of ticks at a time, so that Stop and Reset do not
//	    wait for a whole flock. The end of a firing is in one go: that takes no time,
//	    but for the merge if somebody joined, and the sort.
//	F6. While there are tickers, there is a timeout due no later than the front,
//	    or a firing under way, which will make one. It may be due earlier: who
//	    leaves does not move it. The timer's Stop takes it away; the next who joins
//	    makes another.
//	F7. A flock without tickers is gone for good, and out of the map by the time that
//	    anybody can see that.

// batch is how many tickers tick under one lock.
const batch = 128

// flock is the tickers of one period.
type flock struct {
	clock  *Clock        // Immutable.
	period time.Duration // Immutable.

	mu       sync.Mutex
	ring     ring        // F1. Guarded by mu.
	late     ring        // F1. Guarded by mu.
	disorder bool        // F3: who ticked is not in order. Guarded by mu.
	gone     bool        // F7. Guarded by mu.
	timeout  hwt.Timeout // F6. Guarded by mu.
}

// join puts t into the flock of its period, and returns that.
func (c *Clock) join(t *Ticker, period time.Duration) *flock {
	for { // Ends: each turn, a flock went, which is progress of others.
		v, ok := c.flocks.Load(period)
		if !ok {
			v, _ = c.flocks.LoadOrStore(period, &flock{clock: c, period: period})
		}
		if f := v.(*flock); f.add(t) {
			return f
		}
	}
}

func (f *flock) add(t *Ticker) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return false
	}
	t.due = due(f.clock.now(), f.period)
	f.late.push(t)
	if f.timeout == nil || f.timeout.IsCancelled() { // the first, or the timer was stopped
		f.rearm()
	}
	return true
}

func (f *flock) remove(t *Ticker) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.take(t)
	t.drain()
	if f.ring.head == nil && f.late.head == nil {
		f.gone = true
		f.timeout.Cancel()
		f.clock.flocks.CompareAndDelete(f.period, f)
	}
}

// take takes t out of whichever ring it is in. Guarded by mu.
func (f *flock) take(t *Ticker) {
	f.ring.behead(t)
	f.late.behead(t)
	t.unlink()
}

// front returns who is due first. Guarded by mu.
func (f *flock) front() *Ticker {
	if f.ring.head != nil {
		return f.ring.head
	}
	return f.late.head
}

// flockTask is a flock as the task of its timeout.
type flockTask flock

// Run implements hwt.TimerTask.
func (r *flockTask) Run(timeout hwt.Timeout) error {
	f := (*flock)(r)
	if !f.isOf(timeout) {
		return nil
	}
	now := time.Now()
	for f.fire(now, now.Sub(f.clock.start)) {
		runtime.Gosched() // who was sent to runs while its memory is in the cache
	}
	return nil
}

// isOf reports whether timeout is the flock's, and not of before the timer's Stop.
func (f *flock) isOf(timeout hwt.Timeout) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.timeout == timeout
}

// fire ticks a batch of those that are due, and tells whether there may be more.
func (f *flock) fire(now time.Time, at time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return false
	}
	for range batch {
		t := f.turn(at)
		if t == nil {
			f.settle(at)
			return false
		}
		t.prefetch()
		t.tick(now, at, f.period)
		f.disorder = f.disorder || t.prev.due > t.due
	}
	return true
}

// turn moves who is next, if it is due, to the back of ring, and returns it (F3).
// Guarded by mu.
func (f *flock) turn(at time.Duration) *Ticker {
	if t := f.ring.head; t != nil && t.due <= at {
		f.ring.head = t.next
		return t
	}
	if t := f.late.head; t != nil && t.due <= at {
		f.ring.push(f.late.pop())
		return t
	}
	return nil
}

// settle ends a firing. Guarded by mu.
func (f *flock) settle(at time.Duration) {
	if f.disorder {
		f.ring.sort()
		f.disorder = false
	}
	if joined := f.late.until(due(at, f.period)); joined.head != nil {
		after := f.ring.after(joined.head.due)
		f.ring.splice(after.merge(joined))
	}
	f.rearm()
}

// rearm makes the timeout for the front. Guarded by mu.
func (f *flock) rearm() {
	f.timeout = f.clock.arm((*flockTask)(f), f.front().due-f.clock.now())
}
