package runtimetimer

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

var _ hwt.Timeout = (*timeout)(nil)

// timeout is the handle that users hold. The 48 bytes are the only allocation of a timeout with
// a reused entry. The layout equals an hwt.Event's, so a timeout may also be the inside of an
// event.
type timeout struct {
	word  atomic.Int64 // An enginekit.Word. Atomic: written under shard.mu, read by anyone.
	_     [5]byte
	stamp uint8 // From embedded.Stamp if this is the inside of an event, or else 0. Immutable.
	_     [2]byte
	entry *entry        // Guarded by shard.mu. Nil once ended.
	task  hwt.TimerTask // Immutable.
	shard *shard        // Immutable.
}

func (t *timeout) load() enginekit.Word   { return enginekit.Word(t.word.Load()) }
func (t *timeout) store(w enginekit.Word) { t.word.Store(int64(w)) }

func (t *timeout) isPending() bool { return !t.load().HasEnded() }

var _ hwt.CallerTimeout = (*timeout)(nil)

// newTimeout returns a timeout that is not pending yet. caller comes from
// Timer.callers.
func (s *shard) newTimeout(task hwt.TimerTask, caller uintptr) *timeout {
	if s.timer.callers {
		return &(&enginekit.Recorded[timeout]{Timeout: timeout{shard: s, task: task}, Caller: caller}).Timeout
	}
	return &timeout{shard: s, task: task}
}

// Caller implements hwt.CallerTimeout.
func (t *timeout) Caller() (runtime.Frame, bool) {
	return enginekit.FrameOf(t.shard.timer.callers, t)
}

// Timer implements hwt.Timeout.
func (t *timeout) Timer() hwt.Timer { return t.shard.timer }

// Task implements hwt.Timeout.
func (t *timeout) Task() hwt.TimerTask { return t.task }

// Deadline implements hwt.Timeout.
func (t *timeout) Deadline() time.Time {
	deadline := t.load().Deadline()
	if deadline == enginekit.Forever {
		return time.Time{}
	}
	return t.shard.timer.clock.Time(deadline)
}

// IsExpired implements hwt.Timeout.
func (t *timeout) IsExpired() bool { return t.load().IsExpired() }

// IsCancelled implements hwt.Timeout.
func (t *timeout) IsCancelled() bool { return t.load().IsCancelled() }

// Cancel implements hwt.Timeout. It takes two short locks, the shard's and the
// runtime timer's, and no allocation.
func (t *timeout) Cancel() bool {
	if !t.isPending() || !t.shard.cancel(t) {
		return false
	}
	if t.wantsNotice() {
		// On another goroutine: the caller may hold locks that the callback needs, and
		// the executor may block.
		go t.shard.perform(t, t.shard.timer.runner.Cancelled)
	}
	return true
}

// Reset implements hwt.Timeout. It takes O(log n) time in the pending timeouts, and
// no allocation.
func (t *timeout) Reset(delay time.Duration) bool {
	return t.isPending() && t.shard.reset(t, delay, t.shard.timer.clock.Deadline(delay))
}

// String describes the timeout by deadline, end and task: "timeout(in 4.99s, task
// *shop.check)".
func (t *timeout) String() string {
	return t.load().Describe(t.shard.timer.clock.Now(), t.task)
}
