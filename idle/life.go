package idle

import "sync/atomic"

// Ground rules
//
// The life of a watch is one atomic word, so that the latest activity and the
// end cannot disagree. A touch and an end are each one compare-and-swap on it,
// which is their linearization point.
//
//	alive    nanoseconds of the latest activity, since the reaper was made   never negative
//	ended    ^(latest activity<<2 | how)                                     always negative
//
//	L1. An ended word never changes again. So a watch ends exactly once, and
//	    whoever made that change closes it, or takes it out of its cohort.
//	L2. While alive the word only grows.
//	L3. The reaper ends a word only by comparing with the very activity that it
//	    found old enough. A touch that came in between makes it look again: so
//	    nothing is closed sooner than its timeout after a touch that returned.
//	L4. A touch takes no lock and tells nobody. The deadline that the reaper knows
//	    is therefore never later than the true one.
//
// The loops below end because a compare-and-swap fails only if another one
// succeeded: by L1 that is the end, by L2 the word passes the value that this
// touch wants to store after finitely many others.

// life is the atomic word; see the ground rules above.
type life struct{ word atomic.Int64 }

// how a watch ended.
type how int64

const (
	released how = iota // by hand, or the reaper lets go of it
	idled               // no activity for the timeout
	aged                // as old as it may become
	shut                // closed with its reaper

	howBits = 2
	howMask = 1<<howBits - 1
)

// touch notes activity at now.
func (l *life) touch(now int64) {
	for {
		last := l.word.Load()
		if last < 0 || last >= now {
			return
		}
		if l.word.CompareAndSwap(last, now) { // Linearization point of a touch.
			return
		}
	}
}

// end ends a life whose latest activity is last. It returns false if that has
// changed.
func (l *life) end(last int64, h how) bool {
	return l.word.CompareAndSwap(last, ^(last<<howBits | int64(h))) // Linearization point of an end.
}

// endAny ends the life whatever its latest activity. It returns false if it has
// ended already.
func (l *life) endAny(h how) bool {
	for {
		last := l.word.Load()
		if last < 0 {
			return false
		}
		if l.end(last, h) {
			return true
		}
	}
}

// ended returns how the life ended, and false if it did not.
func (l *life) ended() (how, bool) {
	w := l.word.Load()
	return how(^w & howMask), w < 0
}

// last returns the latest activity, also after the end.
func (l *life) last() int64 {
	if w := l.word.Load(); w >= 0 {
		return w
	} else {
		return ^w >> howBits
	}
}
