package enginekit

import (
	"fmt"
	"time"

	"github.com/hashedwheel/hwt"
)

// Forever is the latest deadline, 146 years after the timer's start. A timeout with
// this deadline never expires.
const Forever = 1<<62 - 1

// Word is the state of a timeout: its deadline, in nanoseconds since the timer's
// start, and its end. One atomic access reads both.
//
//	pending    deadline<<1 | flag           never negative
//	ended      ^(deadline<<1 | cancelled)   always negative
//
// An engine may use the flag of a pending word.
type Word int64

const (
	flag      = 1
	cancelled = 1
)

// PendingWord returns the word of a pending timeout, without the flag.
func PendingWord(deadline int64) Word { return Word(deadline << 1) }

// Cancelled returns the word of a pending timeout after its cancellation.
func (w Word) Cancelled() Word { return ^(w | cancelled) }

// Expired returns the word of a pending timeout after its expiry.
func (w Word) Expired() Word { return ^(w &^ flag) }

// Deadline returns the deadline of a pending or ended timeout.
func (w Word) Deadline() int64 {
	if w < 0 {
		w = ^w
	}
	return int64(w >> 1)
}

// HasEnded reports whether the timeout has ended.
func (w Word) HasEnded() bool { return w < 0 }

// IsCancelled reports whether the timeout was cancelled, also by Stop.
func (w Word) IsCancelled() bool { return w < 0 && ^w&cancelled != 0 }

// IsExpired reports whether the timeout expired.
func (w Word) IsExpired() bool { return w < 0 && ^w&cancelled == 0 }

// Describe returns the String of a timeout: its deadline relative to now, its end,
// and its task, as in "timeout(in 4.99s, task *shop.check)".
func (w Word) Describe(now int64, task hwt.TimerTask) string {
	due, end := "now", ""
	switch left := time.Duration(w.Deadline() - now); {
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
