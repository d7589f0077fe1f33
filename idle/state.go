package idle

import "sync/atomic"

// Ground rules
//
// The state of a watch is one atomic word, so that the latest activity and the
// end cannot disagree. A touch and an end are each one compare-and-swap of it,
// which is their linearization point.
//
//	alive    latest activity, in nanoseconds since the reaper was made   never negative
//	ended    ^(latest activity<<2 | reason)                              always negative
//
//	S1. An ended word never changes again. So a watch ends exactly once, and the
//	    goroutine that ended it closes what it watches, or removes it from its
//	    group.
//	S2. An alive word only grows.
//	S3. The reaper ends a word only by comparing it with the activity that it
//	    found to be too old. If a touch comes in between, the reaper looks again.
//	    So nothing is closed before its timeout after a touch that has returned.
//	S4. A touch takes no lock and wakes no goroutine. So the deadline that the
//	    reaper knows is never later than the true one.
//	S5. A hold is counted before it touches, and its release touches before it is
//	    no longer counted. A scan loads the word first and the count second. If it
//	    sees no hold, a hold that begins afterwards changes the word, and so did
//	    one that was released before: S3 applies to both.
//
// The loops below end because a compare-and-swap fails only if another succeeded.
// By S1 that was the end, or by S2 the word passes the value that this touch would
// store after finitely many others.

// state is the atomic word.
type state struct{ word atomic.Int64 }

// endReason is why a watch ended.
type endReason int64

const (
	endReleased endReason = iota // by its user, or its reaper was closed or the timer stopped
	endIdle
	endTooOld
	endClosed // its reaper closes everything

	reasonBits = 2
	reasonMask = 1<<reasonBits - 1
)

// touch makes now the latest activity.
func (s *state) touch(now int64) {
	for {
		last := s.word.Load()
		if last < 0 || last >= now {
			return
		}
		if s.word.CompareAndSwap(last, now) { // Linearization point of a touch.
			return
		}
	}
}

// end ends the watch if its latest activity is still last, and reports whether it
// did.
func (s *state) end(last int64, reason endReason) bool {
	return s.word.CompareAndSwap(last, ^(last<<reasonBits | int64(reason))) // Linearization point of an end.
}

// endAny ends the watch whatever its latest activity. It returns false if the
// watch has ended already.
func (s *state) endAny(reason endReason) bool {
	for {
		last := s.word.Load()
		if last < 0 {
			return false
		}
		if s.end(last, reason) {
			return true
		}
	}
}

// ended returns why the watch ended, and false if it has not.
func (s *state) ended() (endReason, bool) {
	word := s.word.Load()
	return endReason(^word & reasonMask), word < 0
}

// last returns the latest activity, including after the end.
func (s *state) last() int64 {
	word := s.word.Load()
	if word < 0 {
		return ^word >> reasonBits
	}
	return word
}
