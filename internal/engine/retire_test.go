package engine

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWorkerRetiresWithoutPendingTimeouts(t *testing.T) {
	for name, last := range map[string]func(*timer){
		"expiry":               func(e *timer) { e.after(t, tick, nothing) },
		"Cancel in the intake": func(e *timer) { e.after(t, time.Hour, nothing).Cancel() },
		"Cancel in the wheel": func(e *timer) {
			timeout := e.after(t, time.Hour, nothing)
			pass(time.Minute)
			timeout.Cancel()
		},
		"notice": func(e *timer) {
			timeout := e.add(t, new(noticeTask), time.Hour)
			pass(time.Minute)
			timeout.Cancel()
		},
	} {
		inBubble(t, func(t *testing.T) {
			e := newTimer(t)
			first := (*sleeper)(nil)
			for range 3 {
				last(e)
				pass(100 * time.Millisecond)
				assert.Equal(t, unstarted, e.core.intake.phase.Load(), name)
				assert.Zero(t, e.core.worker.workers.Load(), name)
				if first == nil {
					first = e.core.worker.sleeper.Load()
				}
				assert.Same(t, first, e.core.worker.sleeper.Load(), "the next worker has the sleeper")
				pass(time.Hour)
			}
			assert.Less(t, e.Stats().MaxLag, tick)
			assert.Empty(t, e.Stop())
			<-e.core.worker.done
		})
	}
}

func TestWorkerStaysWithAPendingTimeout(t *testing.T) {
	for name, delay := range map[string]time.Duration{"a day": 24 * time.Hour, "for ever": 1<<63 - 1} {
		inBubble(t, func(t *testing.T) {
			e := newTimer(t)
			e.after(t, delay, nothing)
			pass(time.Hour)
			assert.Equal(t, asleep, e.core.intake.phase.Load(), name)
			assert.EqualValues(t, 1, e.core.worker.workers.Load(), name)
			assert.LessOrEqual(t, e.Stats().Wakeups, int64(2), name)
		})
	}
}

func TestWorkerStaysAfterStart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, tick, nothing)
		pass(tick + linger/2)
		e.Start() // while the worker lingers
		pass(time.Hour)
		assert.EqualValues(t, 1, e.core.worker.workers.Load())
		e.after(t, tick, nothing)
		pass(time.Hour)
		assert.EqualValues(t, 1, e.core.worker.workers.Load())
	})
}

// The timeouts are less than linger apart, so the worker starts once.
func TestWorkerStaysWithSparseTraffic(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		for range 100 {
			e.after(t, time.Hour, nothing).Cancel()
			pass(linger - tick)
			require.EqualValues(t, 1, e.core.worker.workers.Load())
		}
	})
}

// A caller advances the wheel for a retired worker.
func TestCallerCatchesUpForARetiredWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, tick, nothing)
		pass(1000*tick + tick/2)
		require.Equal(t, unstarted, e.core.intake.phase.Load())
		e.core.intake.phase.Store(ticking) // as between the start of a worker and its first step
		e.after(t, time.Hour, nothing)
		e.core.drainAll()
		assert.EqualValues(t, 999, e.wheel.tick)
		e.core.intake.phase.Store(unstarted)
		e.after(t, 0, nothing)
		pass(tick)
		assert.EqualValues(t, 2, e.Stats().Expired)
		assert.Less(t, e.Stats().MaxLag, tick)
	})
}

// The push comes after the worker found no pending timeouts and before it retires (W2).
func TestPushBeforeTheWorkerRetiresIsSeen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		e.core.worker.workers.Store(1)
		require.Equal(t, sleep, e.finish(t))
		time.Sleep(linger)
		require.Equal(t, goOn, e.step()) // the tick
		e.flood(t, 1)
		require.Equal(t, goOn, e.step())
		assert.Equal(t, ticking, e.core.intake.phase.Load())
		require.Equal(t, sleep, e.finish(t))
		assert.Len(t, e.wheel.added, 1)
		e.core.worker.workers.Store(0)
	})
}

// The alarm of a timeout fires after its Cancel is drained and before the canceller has
// corrected the alarm. A worker that retired then would be relieved immediately.
func TestWorkerWithAnAlarmDoesNotRetire(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		e.core.worker.workers.Store(1)
		timeout := e.after(t, 10*tick, nothing)
		require.Equal(t, sleep, e.finish(t))
		require.Equal(t, asleep, e.core.intake.phase.Load())
		_, ok := timeout.state.cancel()
		require.True(t, ok)
		s := e.core.intake.of(timeout)
		s.removed.Add(1)
		require.True(t, s.changed.Push(timeout))
		e.core.drainAll() // as another caller
		time.Sleep(10 * tick)
		require.Equal(t, goOn, e.step())
		require.Equal(t, sleep, e.finish(t))
		time.Sleep(linger)
		require.Equal(t, retired, e.finish(t))
		pass(time.Second)
		assert.Equal(t, unstarted, e.core.intake.phase.Load())
		assert.Zero(t, e.core.worker.workers.Load())
	})
}

// The real clock, because the race needs processors that run in parallel.
func TestRetiringWorkerLosesNoTimeout(t *testing.T) {
	e := newTimer(t, func(c *Config) { c.Tick = time.Millisecond })
	var fired atomic.Int64
	for i := range int64(20) {
		e.after(t, 0, func() { fired.Add(1) })
		require.Eventually(t, func() bool { return fired.Load() == i+1 }, 10*time.Second, 100*time.Microsecond)
		time.Sleep(linger - time.Duration(i-5)*100*time.Microsecond)
	}
	require.Eventually(t, func() bool { return e.core.worker.workers.Load() == 0 }, 10*time.Second, time.Millisecond)
}

func TestStopAfterRetirementGivesNotices(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, tick, nothing)
		pass(time.Second)
		require.Zero(t, e.core.worker.workers.Load())
		e.core.intake.phase.Store(ticking) // as if another caller were about to start the worker
		task := new(noticeTask)
		require.True(t, e.add(t, task, time.Hour).Cancel())
		e.core.intake.phase.Store(unstarted)
		assert.Empty(t, e.Stop())
		synctest.Wait()
		assert.Equal(t, [2]int{0, 1}, task.counts())
	})
}

// Nothing waits for a worker that is late to retire.
func TestLateRetirementIsNoLag(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		e.core.worker.workers.Store(1)
		e.after(t, time.Hour, nothing).Cancel()
		e.rest(t)
		time.Sleep(linger + time.Second)
		assert.Zero(t, e.Stats().Lag)
		require.Equal(t, retired, e.finish(t))
		assert.Zero(t, e.Stats().MaxLag)
		assert.Zero(t, e.core.worker.sleeper.Load().reliefs.waryUntil)
	})
}
