package engine

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// A relief whose goroutine got to run only after the next relief.
func TestWorkerThatWasRelievedBeforeItBeganRunsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		c, ran := e.core, false
		c.worker.workers.Store(1)
		e.after(t, 0, func() { ran = true })
		e.due(t)
		c.worker.workers.Add(1)
		go runWorker(c, newSleeper(c))
		synctest.Wait()
		assert.False(t, ran)
		assert.True(t, c.firing.running)
		assert.Zero(t, c.worker.workerID.Load())
		assert.EqualValues(t, 1, c.worker.workers.Load())
		c.fire()
		assert.True(t, ran)
	})
}

func TestNoticeThatEndsItsGoroutineIsNotHeld(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, func(c *Config) { c.MaxPending = 1 })
		task := &noticeTask{then: runtime.Goexit}
		require.True(t, e.add(t, task, time.Hour).Cancel())
		pass(2 * tick)
		assert.Equal(t, [2]int{0, 1}, task.counts())
		assert.Zero(t, e.core.timer.held.Load())
	})
}

// Another caller's batch may be larger than what callers can drain in a while.
func TestBatchHelpsInProportionToItsSize(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		for i := range e.core.intake.stripes { // what others push
			e.core.intake.stripes[i].accepted.Add(1 << 40)
		}
		_, err := e.NewTimeouts([]hwt.TimerTask{new(noticeTask), new(noticeTask)}, time.Hour)
		assert.NoError(t, err, "it returned")
		for i := range e.core.intake.stripes {
			e.core.intake.stripes[i].accepted.Add(-1 << 40)
		}
	})
}

// A caller holds mu when the relief comes.
func TestReliefIsTriedAgainWhileACallerHoldsTheLock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t) // whose worker, the test, never runs
		e.core.worker.workers.Add(1)
		timeout := e.after(t, 5*tick, nothing)
		require.Equal(t, sleep, e.finish(t))
		e.core.mu.Lock()
		time.Sleep(5*tick + maxOnTime)
		for range 100 {
			runtime.Gosched() // the relief runs into the lock
		}
		e.core.mu.Unlock()
		pass(tick)
		assert.True(t, timeout.IsExpired())
		e.core.worker.workers.Add(-1)
	})
}

// The relief of the last alarm runs into the lock after the worker has set the next.
func TestReliefThatIsTriedAgainLeavesTheNextOne(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t) // whose worker, the test, never runs
		e.core.worker.workers.Add(1)
		timeout := e.after(t, 5*tick, nothing)
		require.Equal(t, sleep, e.finish(t))
		e.core.mu.Lock()
		e.core.relieve(e.core.worker.sleeper.Load())
		e.core.mu.Unlock()
		pass(6 * tick)
		assert.True(t, timeout.IsExpired())
		e.core.worker.workers.Add(-1)
	})
}
