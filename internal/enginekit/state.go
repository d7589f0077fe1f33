package enginekit

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// Forever is the latest deadline, 73 years after the timer's start. A timeout with
// this deadline never expires.
const Forever = 1<<61 - 1

// Word is the state of a timeout: the deadline, in nanoseconds since the timer's start, and
// the end. One atomic access reads both.
//
//	bit 63      it has ended
//	bits 2-62   its deadline
//	bit 1       it was cancelled
//	bit 0       the flag, which an engine may use
type Word int64

const (
	ended     = math.MinInt64
	cancelled = 2
	shift     = 2
)

// Unarmed is the word of an event that was never armed: the event has ended, neither by
// expiry nor by cancellation. No timeout expires with that deadline.
const Unarmed Word = ended | Forever<<shift

// PendingWord returns the word of a pending timeout, without the flag.
func PendingWord(deadline int64) Word { return Word(deadline << shift) }

// Cancelled returns the word of a pending timeout after its cancellation. The flag stays.
func (w Word) Cancelled() Word { return w | ended | cancelled }

// Expired returns the word of a pending timeout after its expiry. The flag stays.
func (w Word) Expired() Word { return w | ended }

// Deadline returns the deadline of a pending or ended timeout.
func (w Word) Deadline() int64 { return int64(w&^ended) >> shift }

// HasEnded reports whether the timeout has ended.
func (w Word) HasEnded() bool { return w < 0 }

// IsCancelled reports whether the timeout was cancelled, also by Stop.
func (w Word) IsCancelled() bool { return w < 0 && w&cancelled != 0 }

// IsExpired reports whether the timeout expired.
func (w Word) IsExpired() bool { return w < 0 && w&cancelled == 0 && w.Deadline() != Forever }

// Describe returns the String of a timeout: the deadline relative to now, the end, and the
// task, as in "timeout(in 4.99s, task *shop.check)".
func (w Word) Describe(now int64, task hwt.TimerTask) string {
	due, end := "now", ""
	switch left := time.Duration(w.Deadline() - now); {
	case w == Unarmed:
		due = "unarmed"
	case w.Deadline() == Forever:
		due = "never"
	case left > 0:
		due = fmt.Sprintf("in %v", left)
	case left < 0:
		due = fmt.Sprintf("%v ago", -left)
	}
	switch {
	case w.IsCancelled():
		end = ", cancelled"
	case w.IsExpired():
		end = ", expired"
	}
	return fmt.Sprintf("timeout(%s%s, task %s)", due, end, TaskName(task))
}

// Limit is a pending limit: each pending timeout takes a place. It also counts the cancelled
// timeouts that an engine still holds in memory. The zero value has no maximum and does not
// count. All methods are safe for concurrent use.
type Limit struct {
	max      int64        // Immutable after New. 0 means no maximum.
	taken    atomic.Int64 // Atomic: written by Take and Give.
	held     atomic.Int64 // Atomic: written by Hold and Release.
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

// Hold counts a cancelled timeout that the engine still holds, and returns their number.
func (l *Limit) Hold() int64 { return l.held.Add(1) }

// Held returns the number of cancelled timeouts that the engine still holds.
func (l *Limit) Held() int64 { return l.held.Load() }

// Release counts n cancelled timeouts that the engine no longer holds.
func (l *Limit) Release(n int64) {
	if l.max > 0 {
		l.held.Add(-n)
	}
}

// Give gives n places back.
func (l *Limit) Give(n int64) {
	if l.max > 0 {
		l.taken.Add(-n)
	}
}

// maxReads bounds the reads of Between.
const maxReads = 8

// Between returns the number of those of begun that have not ended. Both counts only grow, and ended never
// exceeds begun. Other goroutines may change them between two reads, for as long as the caller
// waits for a processor. Between reads again, up to eight times, until ended stays the same
// across a read of begun.
//
// least is at most the greatest difference during the call, and most is at least the
// smallest. They are equal if ended stayed the same.
func Between(begun, ended func() int64) (least, most int64) {
	most = math.MaxInt64
	was := ended()
	for range maxReads {
		total := begun()
		now := ended()
		if now == was {
			return max(total-now, 0), max(total-now, 0)
		}
		least, most = max(least, total-now), min(most, total-was)
		was = now
	}
	return least, most
}

// FindEnded returns the channel that is closed when a timer stops, and false for a timer of
// another type.
type FindEnded func(hwt.Timer) (<-chan struct{}, bool)

// finders belong to the engines in the program. Package initialization registers them, one
// after another.
var finders []FindEnded

// RegisterEnded makes the stop of an engine's timers visible. Call RegisterEnded to
// initialize a package variable; the result is true.
func RegisterEnded(find FindEnded) bool {
	finders = append(finders, find)
	return true
}

// Ended returns a channel that is closed when timer stops, and false if no engine knows
// the timer, as with a wrapper.
func Ended(timer hwt.Timer) (<-chan struct{}, bool) {
	for _, find := range finders {
		if ended, ok := find(timer); ok {
			return ended, true
		}
	}
	return nil, false
}
