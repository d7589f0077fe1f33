package engine

import "sync/atomic"

// Ground rules
//
// The life of a timeout is one atomic word, so that its deadline and its end
// cannot disagree: Cancel, Reset and expiry are each one compare-and-swap on
// it, which is their linearization point.
//
//	pending    deadline<<1 | queued     never negative
//	ended      ^(deadline<<1 | how)     always negative
//
//	L1. An ended word never changes again. So a timeout ends exactly once, and
//	    whoever made that change accounts for it.
//	L2. queued means: the timeout is in a queue to the worker, or the goroutine
//	    that set the bit is about to push it. Whoever changes the word of a
//	    queued timeout need not push it, since the worker will look at the word
//	    after taking it from the queue. If the push fails, because the timer is
//	    being stopped, the pusher acts for the worker: see unqueue.
//	L3. In a pending word only the holder of mu clears queued, after taking the
//	    timeout from its queue, or failing to push it, and before acting on the
//	    word. So a timeout is in at most one queue, once, and no change goes
//	    unseen.
//	L4. deadline grows as it pleases (Reset to later) without telling anyone: the
//	    worker compares before it lets a timeout expire.
//
// Every loop below ends because its compare-and-swap fails only if another one
// succeeded: by L1 that ends the life, by L3 the worker does it once for each
// push, and a Reset that got in between is progress of another caller.

// life is the atomic word; see the ground rules above. A plain int64, so that a
// timeout nobody else knows yet is initialized without an atomic store.
type life = int64

const (
	queued    = 1         // in a pending word
	cancelled = 1         // in an ended word: cancelled if set, expired if not
	forever   = 1<<62 - 1 // the latest deadline, 146 years after the timer's start; it never comes
)

func newLife(deadline int64) life { return deadline<<1 | queued }

// deadlineOf returns the deadline of a word, pending or ended.
func deadlineOf(w life) int64 {
	if w < 0 {
		w = ^w
	}
	return w >> 1
}

func ended(w life) bool        { return w < 0 }
func wasCancelled(w life) bool { return w < 0 && ^w&cancelled != 0 }
func wasExpired(w life) bool   { return w < 0 && ^w&cancelled == 0 }

// cancel ends the life. It returns the pending word it ended, and false if
// there was none.
func cancel(l *life) (was life, ok bool) {
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

// expire ends the life if its deadline is not after now. It returns the word
// that stands, and whether this call ended it.
func expire(l *life, now int64) (w life, ok bool) {
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

// rearm moves the deadline. push tells that the caller must push the timeout to
// the worker: it has to come sooner than the worker knows, and nobody has told
// it yet. ok is false if the life has ended.
func rearm(l *life, deadline int64) (push, ok bool) {
	for {
		w := atomic.LoadInt64(l)
		if ended(w) {
			return false, false
		}
		push = w&queued == 0 && deadline < deadlineOf(w)
		next := deadline<<1 | w&queued
		if push {
			next |= queued
		}
		if atomic.CompareAndSwapInt64(l, w, next) { // Linearization point of Reset.
			return push, true
		}
	}
}

// dequeue clears queued (L3) and returns the word that stands.
func dequeue(l *life) life {
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
