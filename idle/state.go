package idle

import "sync/atomic"

// Ground rules
//
// The state of a watch is one atomic word, so that the last activity and the end cannot
// disagree. A touch and an end are each one compare-and-swap of the word. The compare-and-swap
// is their linearization point.
//
//	alive    last activity, in nanoseconds since New         never negative
//	ended    ^(last activity<<2 | reason)                    always negative
//
//	S1. An ended word never changes again. A watch ends exactly once. The goroutine that ended
//	    it closes the watched closer or removes the watch from its group.
//	S2. An alive word only grows.
//	S3. The reaper ends a word only by a compare-and-swap with the activity that was too old. If
//	    a touch intervenes, the reaper examines the watch again. A close is never earlier than
//	    the timeout after a touch that has returned.
//	S4. A touch takes no lock and wakes no goroutine. The deadline known to the reaper is never
//	    later than the current one.
//	S5. A hold is counted before it touches, and its release touches before the
//	    count falls. A scan loads the word before the count. If it sees no hold, a
//	    later hold changes the word, and an earlier release has changed it. S3
//	    applies to both.
//
// The loops below end because a compare-and-swap fails only if another succeeded.
// That was the end of the watch (S1), or a touch. Finitely many touches make the
// word exceed the value of this touch (S2).

// state is the atomic word.
type state struct{ word atomic.Int64 }

// endReason is the reason for which a watch ended.
type endReason int64

const (
	endStopped endReason = iota // by its user, by Reaper.Close, or because the timer stopped
	endIdle
	endTooOld
	endClosed // by Reaper.Close with CloseAll

	reasonBits = 2
	reasonMask = 1<<reasonBits - 1
)

// touch makes now the last activity.
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

// end ends the watch if the last activity is still last, and reports whether the watch
// ended.
func (s *state) end(last int64, reason endReason) bool {
	return s.word.CompareAndSwap(last, ^(last<<reasonBits | int64(reason))) // Linearization point of an end.
}

// endAny ends the watch regardless of the last activity. endAny returns false if the watch
// had already ended.
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

// ended returns the reason of the end, and false if the watch has not ended.
func (s *state) ended() (endReason, bool) {
	word := s.word.Load()
	return endReason(^word & reasonMask), word < 0
}

// last returns the last activity, also after the end.
func (s *state) last() int64 {
	word := s.word.Load()
	if word < 0 {
		return ^word >> reasonBits
	}
	return word
}
