package runtimetimer

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

var _ hwt.Timeout = (*timeout)(nil)

// timeout is the handle that users hold: 48 bytes, and all that is allocated
// for one more timeout when an entry can be used again.
type timeout struct {
	shard *shard        // Immutable.
	task  hwt.TimerTask // Immutable.
	entry *entry        // Guarded by shard.mu. Nil once ended.
	word  atomic.Int64  // A stateWord. Atomic: written under shard.mu, read by anyone.
}

func (t *timeout) load() stateWord   { return stateWord(t.word.Load()) }
func (t *timeout) store(w stateWord) { t.word.Store(int64(w)) }

// recorded is a timeout of a timer that records callers. All of that timer's are.
type recorded struct {
	timeout
	caller uintptr // Immutable.
}

var _ hwt.CallerTimeout = (*timeout)(nil)

// newTimeout makes a timeout. caller is from the function of that name.
func (s *shard) newTimeout(task hwt.TimerTask, caller uintptr) *timeout {
	if s.timer.callers {
		return &(&recorded{timeout{shard: s, task: task}, caller}).timeout
	}
	return &timeout{shard: s, task: task}
}

// caller returns where the calling goroutine came from, if that is recorded.
func (t *Timer) caller() uintptr {
	if t.callers {
		return enginekit.Caller()
	}
	return 0
}

// Caller implements hwt.CallerTimeout.
func (t *timeout) Caller() (runtime.Frame, bool) {
	if !t.shard.timer.callers {
		return runtime.Frame{}, false
	}
	return enginekit.CallerFrame((*recorded)(unsafe.Pointer(t)).caller)
}

// Timer implements hwt.Timeout.
func (t *timeout) Timer() hwt.Timer { return t.shard.timer }

// Task implements hwt.Timeout.
func (t *timeout) Task() hwt.TimerTask { return t.task }

// Deadline implements hwt.Timeout.
func (t *timeout) Deadline() time.Time {
	deadline := t.load().deadline()
	if deadline == never {
		return time.Time{}
	}
	return t.shard.timer.clock.Time(int64(deadline))
}

// IsExpired implements hwt.Timeout.
func (t *timeout) IsExpired() bool { return t.load().is(expired) }

// IsCancelled implements hwt.Timeout.
func (t *timeout) IsCancelled() bool { return t.load().is(cancelled) }

// Cancel implements hwt.Timeout. It takes two short locks, the shard's and the
// runtime timer's, and no allocation.
func (t *timeout) Cancel() bool {
	if !t.load().is(pending) || !t.shard.cancel(t) {
		return false
	}
	if enginekit.WantsCancelled(t.task) {
		// Not here: the caller may hold locks that the callback needs, and the
		// executor may block.
		go t.shard.perform(t, cancelled)
	}
	return true
}

// Reset implements hwt.Timeout. It takes O(log n) time in the pending timeouts, and
// no allocation.
func (t *timeout) Reset(delay time.Duration) bool {
	return t.load().is(pending) && t.shard.reset(t, delay)
}

// String describes the timeout by its deadline, relative to now, by its end if it
// had one, and by its task: "timeout(in 4.99s, task *shop.check)".
func (t *timeout) String() string {
	w, end := t.load(), ""
	switch {
	case w.is(cancelled):
		end = "cancelled"
	case w.is(expired):
		end = "expired"
	}
	left := w.deadline() - time.Duration(t.shard.timer.clock.Now())
	return enginekit.Describe(left, w.deadline() == never, end, t.task)
}

// state is where a timeout is in its life.
type state int64

const (
	pending state = iota
	expired
	cancelled
)

// never is the latest deadline, 146 years after the timer's start; it does not
// come.
const never time.Duration = 1<<62 - 1

// stateWord is a deadline and a state, so that both are read at once:
//
//	pending    deadline<<1                   never negative
//	ended      ^(deadline<<1 | cancelled)    always negative
type stateWord int64

func pendingUntil(deadline time.Duration) stateWord { return stateWord(deadline << 1) }

// ended returns the end of w, which is pending.
func (w stateWord) ended(s state) stateWord { return ^(w | stateWord(s-expired)) }

func (w stateWord) is(s state) bool {
	if w >= 0 {
		return s == pending
	}
	return s == expired+state(^w&1)
}

func (w stateWord) deadline() time.Duration {
	if w < 0 {
		w = ^w
	}
	return time.Duration(w >> 1)
}
