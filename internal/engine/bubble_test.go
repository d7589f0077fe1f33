package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// century exceeds the time from the year 2000, where bubbles begin, to now.
const century = 100 * 365 * 24 * time.Hour

// The timer is outside of the bubble, on the real clock. The bubble's time is later (W7).
func TestCallsFromALaterBubbleDoNotMoveTheWheel(t *testing.T) {
	for name, call := range map[string]func(*timer, *Timeout){
		"Cancel":      func(_ *timer, timeout *Timeout) { timeout.Cancel() },
		"Reset":       func(_ *timer, timeout *Timeout) { timeout.Reset(time.Hour) },
		"NewTimeout":  func(e *timer, _ *Timeout) { _, _ = e.AfterFunc(time.Hour, nothing) },
		"NewTimeouts": func(e *timer, _ *Timeout) { _, _ = e.NewTimeouts([]hwt.TimerTask{hwt.TaskFunc(nil)}, 0) },
		"All": func(e *timer, _ *Timeout) {
			for range e.All() { //nolint:revive // The loop drains the intake.
			}
		},
		"drainAll": func(e *timer, _ *Timeout) { e.core.drainAll() },
		"paceNow":  func(e *timer, timeout *Timeout) { e.core.paceNow(e.core.intake.of(timeout)) },
	} {
		e := newTimer(t)
		other := e.after(t, time.Hour, nothing)
		sleeps := func() bool {
			e.core.mu.Lock()
			defer e.core.mu.Unlock()
			return e.core.worker.sleeping && e.core.signal.phase.Load() == asleep
		}
		require.Eventually(t, sleeps, 10*time.Second, time.Millisecond, name)
		first := e.after(t, 20*tick, nothing)
		synctest.Test(t, func(*testing.T) {
			time.Sleep(century)
			call(e, other)
		})
		assert.Less(t, e.core.signal.assistFrom.Load(), int64(2*time.Hour), name)
		second := e.after(t, 5*tick, nothing)
		require.Eventually(t, func() bool { return first.IsExpired() && second.IsExpired() },
			10*time.Second, time.Millisecond, name)
		e.core.mu.Lock()
		assert.Less(t, e.core.schedule.tick, int64(time.Hour/tick), name)
		e.core.mu.Unlock()
	}
}

// The timer is outside of the bubble. A worker's goroutine would belong to the bubble.
func TestNoWorkerIsStartedFromALaterBubble(t *testing.T) {
	e := newTimer(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(century)
		assert.Panics(t, e.Start)
		e.after(t, time.Hour, nothing)
		assert.Equal(t, unstarted, e.core.signal.phase.Load())
	})
	timeout := e.after(t, tick, nothing)
	require.Eventually(t, timeout.IsExpired, 10*time.Second, time.Millisecond)
}
