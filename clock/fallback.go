package clock

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// fallbackTimer is a runtime timer in place of a timeout that the [hwt.Timer]
// rejected, or for a delay below [Options.RuntimeBelow]. The functions of packages time
// and context cannot fail, but NewTimeout can, and no deadline may be lost.
type fallbackTimer struct {
	clock *Clock        // Immutable.
	task  hwt.TimerTask // Immutable.
	timer *time.Timer   // Immutable once armed. run does not read it.
	due   atomic.Int64  // in the clock's time. Atomic: written by armRuntime and Reset, read by all.
	state atomic.Int32  // Leaves pending once. Atomic: written by run and Cancel, read by all.
}

var _ hwt.Timeout = (*fallbackTimer)(nil)

const (
	pending int32 = iota
	expired
	cancelled
)

// fallback arms a runtime timer for task, and reports why.
func (c *Clock) fallback(task hwt.TimerTask, d time.Duration, why error) hwt.Timeout {
	c.fallbackTimers.Add(1)
	c.reportRefusal(task, why)
	return c.armRuntime(task, d)
}

// armRuntime arms a runtime timer for task.
func (c *Clock) armRuntime(task hwt.TimerTask, d time.Duration) hwt.Timeout {
	t := &fallbackTimer{clock: c, task: task}
	t.due.Store(int64(due(c.now(), d)))
	t.timer = time.AfterFunc(d, t.run)
	return t
}

// reportRefusal runs under locks of this package, so the handler and the log are called on
// a new goroutine, where both may use the clock.
func (c *Clock) reportRefusal(refused hwt.TimerTask, why error) {
	const message = "clock: the timer rejected a timeout; a runtime timer replaces it"
	if c.options.ErrorHandler != nil {
		go c.report(refused, fmt.Errorf(message+": %w", why))
		return
	}
	c.refused.Do(func() { go c.runner.Warn(message+" (logged once)", "error", why) })
}

func (t *fallbackTimer) run() {
	if t.state.CompareAndSwap(pending, expired) { // Linearization point of expiry.
		_ = t.task.Run(t) // The tasks of this package return nil.
	}
}

// Timer returns the clock's timer. t replaces a timeout of that timer.
func (t *fallbackTimer) Timer() hwt.Timer { return t.clock.timer }

// Task implements [hwt.Timeout].
func (t *fallbackTimer) Task() hwt.TimerTask { return t.task }

// IsExpired implements [hwt.Timeout].
func (t *fallbackTimer) IsExpired() bool { return t.state.Load() == expired }

// IsCancelled implements [hwt.Timeout].
func (t *fallbackTimer) IsCancelled() bool { return t.state.Load() == cancelled }

// Deadline implements [hwt.Timeout].
func (t *fallbackTimer) Deadline() time.Time {
	due := t.due.Load()
	if due == math.MaxInt64 {
		return time.Time{}
	}
	return t.clock.dueTime(time.Now(), time.Duration(due))
}

// Cancel implements [hwt.Timeout].
func (t *fallbackTimer) Cancel() bool {
	if !t.state.CompareAndSwap(pending, cancelled) { // Linearization point of Cancel.
		return false
	}
	t.timer.Stop()
	return true
}

// Reset is not called concurrently. A concurrent Cancel is not lost, because run checks
// the state.
func (t *fallbackTimer) Reset(d time.Duration) bool {
	if !t.timer.Stop() {
		return false
	}
	t.due.Store(int64(due(t.clock.now(), d)))
	t.timer.Reset(d)
	return true
}
