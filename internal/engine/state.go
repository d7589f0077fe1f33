package engine

import (
	"math"
	"sync/atomic"
)

// Ground rules
//
// The state of a timeout is one atomic word, so that its deadline and its end
// cannot disagree: Cancel, Reset and expiry are each one compare-and-swap on
// it, which is their linearization point.
//
//	pending    deadline<<1 | queued     never negative
//	ended      ^(deadline<<1 | how)     always negative
//
//	L1. An ended word never changes again. A timeout ends exactly once, and
//	    the goroutine that made that change accounts for it.
//	L2. queued means: the timeout is in a queue to the worker, or the goroutine
//	    that set the bit will push it. A caller that changes the word of a
//	    queued timeout need not push it, since the worker will look at the word
//	    after taking it from the queue. The pusher looks at the word once more
//	    after its push, since it attends for those who changed it before. If the
//	    push fails, because the timer is being stopped, the pusher acts for the
//	    worker: see unqueue.
//	L3. In a pending word only the holder of mu clears queued, after taking the
//	    timeout from its queue, or failing to push it, and before acting on the
//	    word. A timeout is in at most one queue, once, and no change goes
//	    unseen.
//	L4. A Reset to later changes the deadline alone, and pushes nothing: the
//	    worker compares before it expires a timeout.
//
// Every loop below ends because its compare-and-swap fails only if another one
// succeeded: by L1 that ends the timeout, by L3 the worker does it once for each
// push, and a Reset that got in between is progress of another caller.

// state is the atomic word; see the ground rules above. A plain int64, so that a
// new timeout is initialized without an atomic store.
type state = int64

const (
	queued    = 1         // in a pending word
	cancelled = 1         // in an ended word: cancelled if set, expired if not
	forever   = 1<<62 - 1 // the latest deadline, 146 years after the timer's start; it never comes

	never      = math.MaxInt64 // a time that the clock does not reach
	noDeadline = math.MinInt64 // the deadline of a timeout to drain soon
)

func newState(deadline int64) state { return deadline<<1 | queued }

// deadlineOf returns the deadline of a word, pending or ended.
func deadlineOf(w state) int64 {
	if w < 0 {
		w = ^w
	}
	return w >> 1
}

// drainBy returns the time by which a timeout in a queue must be drained.
func drainBy(w state) int64 {
	if ended(w) {
		return noDeadline
	}
	return deadlineOf(w)
}

func ended(w state) bool        { return w < 0 }
func wasCancelled(w state) bool { return w < 0 && ^w&cancelled != 0 }
func wasExpired(w state) bool   { return w < 0 && ^w&cancelled == 0 }

// cancel ends the timeout. It returns the pending word it ended, and false if
// there was none.
func cancel(l *state) (was state, ok bool) {
	for {
		w := atomic.LoadInt64(l)
		if ended(w) {
			return w, false
		}
		if atomic.CompareAndSwapInt64(l, w, ^(w | cancelled)) { // Linearization point of Cancel.
			return w, true
		}
	}
}

// expire ends the timeout if its deadline is not after now. It returns the word
// that stands, and whether this call ended it.
func expire(l *state, now int64) (w state, ok bool) {
	for {
		w = atomic.LoadInt64(l)
		if ended(w) || deadlineOf(w) > now {
			return w, false
		}
		if atomic.CompareAndSwapInt64(l, w, ^(w &^ queued)) { // Linearization point of expiry.
			return w, true
		}
	}
}

// rearm moves the deadline. It returns the word before, and false if the timeout has
// ended. If the timeout is not queued and its deadline is now earlier, rearm sets
// queued: the caller must push it to the worker.
func rearm(l *state, deadline int64) (was state, ok bool) {
	for {
		w := atomic.LoadInt64(l)
		if ended(w) {
			return w, false
		}
		next := deadline<<1 | w&queued
		if deadline < deadlineOf(w) {
			next |= queued
		}
		if atomic.CompareAndSwapInt64(l, w, next) { // Linearization point of Reset.
			return w, true
		}
	}
}

// dequeue clears queued (L3) and returns the word that stands.
func dequeue(l *state) state {
	for {
		w := atomic.LoadInt64(l)
		if ended(w) {
			return w
		}
		if atomic.CompareAndSwapInt64(l, w, w&^queued) {
			return w &^ queued
		}
	}
}
