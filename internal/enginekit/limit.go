package enginekit

import (
	"sync/atomic"

	"github.com/hashedwheel/hwt"
)

// Limit is a pending limit: each pending timeout takes a place. The zero value has no
// maximum and does not count. All methods are safe for concurrent use.
type Limit struct {
	max      int64        // Immutable after New. 0 means no maximum.
	taken    atomic.Int64 // Atomic: written by Take and Give.
	rejected atomic.Int64 // Atomic: written by Take, read by Rejected.
}

// NewLimit returns a Limit of n places, or without a maximum if n is not positive.
func NewLimit(n int64) *Limit { return &Limit{max: max(n, 0)} }

// Max returns the maximum, or 0 for no maximum.
func (l *Limit) Max() int64 { return l.max }

// Rejected returns the number of errors that Take and Reject returned.
func (l *Limit) Rejected() int64 { return l.rejected.Load() }

// Take takes n places, or returns a [*hwt.PendingLimitError] and takes no place.
//
// The count never exceeds the maximum, so an error means that fewer than n places were
// left. The loop ends, because a compare-and-swap fails only if another call took or
// gave a place.
func (l *Limit) Take(n int64) error {
	if l.max == 0 {
		return nil
	}
	for {
		taken := l.taken.Load()
		if n > l.max-taken {
			return l.Reject(&hwt.PendingLimitError{Pending: taken + n, Max: l.max})
		}
		if l.taken.CompareAndSwap(taken, taken+n) {
			return nil
		}
	}
}

// Reject counts a rejection and returns its error.
func (l *Limit) Reject(err *hwt.PendingLimitError) error {
	l.rejected.Add(1)
	return err
}

// Give gives n places back.
func (l *Limit) Give(n int64) {
	if l.max > 0 {
		l.taken.Add(-n)
	}
}
