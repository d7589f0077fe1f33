package runtimetimer

import (
	"sync/atomic"

	"github.com/hashedwheel/hwt"
)

// limit counts the places that pending timeouts take, if there is a maximum of
// them. Without one it costs nothing: the shards count by themselves.
type limit struct {
	max      int64        // Immutable after New. None if not positive.
	taken    atomic.Int64 // Atomic: written by take and give.
	rejected atomic.Int64 // Atomic: written by take, read by Stats.
}

// take takes a place, or returns the error that NewTimeout refuses with.
//
// The count never passes the maximum, not even for a moment, so that a refusal
// always means that all places were taken. The loop ends: each turn another
// call took or gave a place.
func (l *limit) take() error {
	if l.max <= 0 {
		return nil
	}
	for {
		taken := l.taken.Load()
		if taken >= l.max {
			l.rejected.Add(1)
			return &hwt.PendingLimitError{Pending: taken + 1, Max: l.max}
		}
		if l.taken.CompareAndSwap(taken, taken+1) {
			return nil
		}
	}
}

// give returns a place.
func (l *limit) give() {
	if l.max > 0 {
		l.taken.Add(-1)
	}
}
