package enginekit

import (
	"fmt"
	"math"
	"time"

	"github.com/hashedwheel/hwt"
)

// Forever is the latest deadline, 73 years after the timer's start. A timeout with
// this deadline never expires.
const Forever = 1<<61 - 1

// Word is the state of a timeout: its deadline, in nanoseconds since the timer's
// start, and its end. One atomic access reads both.
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

// Unarmed is the word of an event that was never armed: it has ended, neither by expiry
// nor by cancellation. No timeout expires with its deadline.
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

// Describe returns the String of a timeout: its deadline relative to now, its end,
// and its task, as in "timeout(in 4.99s, task *shop.check)".
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
