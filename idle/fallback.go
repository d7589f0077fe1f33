package idle

import (
	"sync/atomic"
	"time"
)

// fallbackTimer is an alarm on a runtime timer. A fallbackTimer replaces a timeout when the
// reaper's timer is at its pending limit, because an unwatched connection could stay open
// forever. The methods mean the same as the methods of hwt.Timeout.
type fallbackTimer struct {
	timer   *time.Timer // Immutable after newFallbackTimer.
	expired atomic.Bool // Atomic: written by the timer, read under shard.mu.
}

func newFallbackTimer(delay time.Duration, scan func()) *fallbackTimer {
	t := &fallbackTimer{}
	t.timer = time.AfterFunc(delay, func() {
		t.expired.Store(true)
		scan()
	})
	return t
}

func (t *fallbackTimer) IsExpired() bool   { return t.expired.Load() }
func (t *fallbackTimer) IsCancelled() bool { return false }
func (t *fallbackTimer) Cancel() bool      { return t.timer.Stop() }

func (t *fallbackTimer) Reset(delay time.Duration) bool {
	pending := t.timer.Stop()
	if pending {
		t.timer.Reset(delay)
	}
	return pending
}
