package engine

import (
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// While a task blocks the worker, callers drain their own pushes above a bound (P1).
func TestIntakeIsBoundedWhileATaskHoldsTheWorker(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one stripe
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		release := make(chan struct{})
		e.after(t, 0, func() { <-release })
		pass(tick)
		bound := int64(len(e.core.intake.stripes)) * (maxBacklog + 2*assistEvery)
		timeouts := make([]*Timeout, 2*bound)
		for i := range timeouts {
			timeouts[i] = e.after(t, time.Hour, nothing)
		}
		assert.LessOrEqual(t, e.backlog(), bound)
		e.core.drainAll()
		for _, timeout := range timeouts {
			timeout.Cancel()
		}
		assert.LessOrEqual(t, e.backlog(), bound)
		close(release)
		pass(3 * tick)
		assert.Zero(t, e.backlog())
	})
}

// When the worker is late, callers drain for it.
func TestCallersAssistAWorkerThatIsLate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		e.core.intake.alarm.assistFrom.Store(int64(tick + maxOnTime))
		push := func() {
			for range assistEvery * len(e.core.intake.stripes) {
				e.after(t, time.Hour, nothing)
			}
		}
		time.Sleep(tick)
		push()
		assert.Empty(t, e.wheel.added, "the worker is on time")
		time.Sleep(maxOnTime)
		push()
		assert.NotEmpty(t, e.wheel.added, "the worker is late")
	})
}

// A caller's drain leaves timeouts in due (P2, F1).
func TestCallerDoesNotDrainDueTimeouts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		later, cancelled := e.after(t, tick, nothing), e.after(t, tick, nothing)
		e.due(t)
		require.True(t, later.Reset(2*time.Hour))
		require.True(t, later.Reset(time.Hour)) // pushes
		require.True(t, cancelled.Cancel())
		e.core.drainAll()
		assert.Empty(t, e.wheel.added)
		e.core.worker.fire()
		assert.Len(t, e.wheel.added, 1)
		assert.Contains(t, e.wheel.added, later)
	})
}

// A caller drains notices while the worker sleeps.
func TestNoticesDrainedByACallerAreGiven(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, time.Hour, nothing)
		pass(5 * tick)
		require.Equal(t, asleep, e.core.intake.phase.Load())
		task := new(noticeTask)
		require.True(t, e.add(t, task, time.Minute).Cancel())
		pass(2 * tick)
		assert.Equal(t, [2]int{0, 1}, task.counts())
	})
}

// A caller drains a Cancel after the tick's drain and before the worker sleeps.
func TestLateNoticesAreGivenBeforeTheWorkerSleeps(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		task := new(noticeTask)
		timeout := e.add(t, task, time.Hour)
		time.Sleep(5 * tick)
		require.Equal(t, goOn, e.step()) // the tick, with its drain
		require.True(t, timeout.Cancel())
		e.core.drainAll()
		require.Equal(t, sleep, e.finish(t))
		assert.Equal(t, [2]int{0, 1}, task.counts())
	})
}

// A burst of Resets on one stripe must not starve those of another.
func TestChangedTimeoutsOfEveryStripeAreDrained(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	e := newIdleTimer(t)
	c := e.core
	stripes := c.intake.stripes
	for range len(stripes) {
		for i := range stripes {
			for range 2 * popAtLeast {
				require.True(t, stripes[i].changed.Push(&Timeout{state: newState(forever), home: &e.workers[0]}))
			}
		}
		c.schedule.drain(0) // the time is over after popAtLeast
	}
	for i := range stripes {
		stripes[i].changed.Pop()
		drained := stripes[i].drained.Load()
		assert.Positive(t, drained, "stripe %d", i)
	}
}

func TestUnscheduledWorkerIsRelieved(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t) // the test never takes a step
		e.wary()
		c := e.core
		c.worker.workers.Add(1)
		var by []byte
		timeout := e.after(t, 5*tick, func() { by = debug.Stack() })
		require.Equal(t, sleep, e.finish(t))
		pass(5 * tick)
		assert.Contains(t, string(by), "engine.runWorker(", "on another worker, which leak checkers recognize")
		assert.True(t, timeout.IsExpired())
		assert.EqualValues(t, 1, c.worker.workers.Load(), "the relief has ended")
		assert.Equal(t, sleep, e.finish(t), "the worker works on")
		c.worker.workers.Add(-1)
		e.after(t, tick, nothing)
		pass(3 * tick)
		assert.Zero(t, e.Pending())
	})
}

func TestWorkerInATaskIsNotRelieved(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, tick, func() { time.Sleep(100 * tick) })
		e.after(t, 5*tick, nothing)
		pass(50 * tick) // past the worker's planned wake-up
		go e.core.worker.runRelief()
		synctest.Wait()
		assert.EqualValues(t, 1, e.core.worker.workers.Load())
		assert.EqualValues(t, 1, e.Pending())
	})
}

// The wheel is empty, and the intake is not.
func TestMaxLagCountsFromThePlannedWakeUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, tick, func() { time.Sleep(10 * time.Second) })
		pass(tick)
		e.after(t, tick, nothing)
		pass(20 * time.Second)
		assert.Equal(t, 10*time.Second-tick, e.Stats().MaxLag)
	})
}

// pushing returns the time that pushes of an hour take, with a pause after each.
func (e *timer) pushing(t *testing.T, n int, pause time.Duration) time.Duration {
	began := time.Now()
	for range n {
		e.after(t, time.Hour, nothing)
		time.Sleep(pause)
	}
	return time.Since(began)
}

// The worker runs a task, and the callers push at full speed (P4).
func TestCallersThatOutrunALateWorkerRest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.core.env.rests = true               // also in a bubble
		stripes := len(e.core.intake.stripes) // each may look once more or once less
		release := make(chan struct{})
		defer close(release)
		e.after(t, 0, func() { <-release })
		pass(2 * tick)
		late := func(d time.Duration) { e.core.intake.alarm.at.Store(e.core.env.clock.Now() - int64(d)) }
		full := func() time.Duration { return e.pushing(t, 100*assistEvery, 0) }
		late(0)
		assert.Zero(t, full(), "the worker is on time")
		late(2 * time.Millisecond)
		assert.Less(t, full(), 20*time.Millisecond, "the worker is a little late")
		late(time.Second)
		took := full()
		assert.Greater(t, took, time.Duration(90-stripes)*maxRest)
		assert.LessOrEqual(t, took, time.Duration(100+stripes)*maxRest)
		e.core.intake.nextPush.Add(int64(time.Hour)) // as if many callers pushed
		assert.LessOrEqual(t, full(), time.Duration(100+stripes)*maxRest)
		time.Sleep(2 * maxRest)
		assert.Equal(t, 4*assistEvery*maxRest, e.pushing(t, 4*assistEvery, maxRest), "callers that do not push fast")
	})
}

// Cancel and Reset make the worker's queue no longer.
func TestCallersThatCancelOrResetDoNotRest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		timeouts := make([]*Timeout, 100*assistEvery)
		for i := range timeouts {
			timeouts[i] = e.after(t, 2*time.Hour, nothing)
		}
		e.after(t, 0, func() { time.Sleep(2 * time.Second) })
		pass(time.Second)
		e.core.env.rests = true // also in a bubble
		began := time.Now()
		for _, timeout := range timeouts {
			timeout.Reset(time.Hour)
		}
		e.core.drainAll()
		for _, timeout := range timeouts {
			timeout.Cancel()
		}
		assert.Zero(t, time.Since(began))
	})
}

func TestWorkersDoNotRest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, func(c *Config) { c.Workers, c.NewWheel = 2, newFlatWheel })
		for i := range e.workers {
			e.workers[i].env.rests = true // also in a bubble
		}
		var took time.Duration
		e.after(t, 0, func() {
			time.Sleep(time.Second)
			for i := range e.workers {
				e.workers[i].core.intake.alarm.at.Store(0) // both are far behind
				e.workers[i].core.intake.alarm.assistFrom.Store(0)
			}
			took = e.pushing(t, 100*assistEvery, 0)
		})
		pass(5 * time.Second)
		assert.Zero(t, took)
	})
}

// The caller may hold a lock for which the task waits.
func TestCallersDoNotRestBesideASlowTask(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, func(c *Config) { c.SlowTask = 100 * time.Millisecond })
		e.core.env.rests = true // also in a bubble
		e.after(t, 0, func() { time.Sleep(3 * longestWait) })
		pass(longestWait / 2)
		assert.Positive(t, e.pushing(t, 16*assistEvery, 0), "the worker may wait for a processor")
		pass(longestWait)
		assert.Zero(t, e.pushing(t, 100*assistEvery, 0))
	})
}

// Another goroutine waits for the caller's lock. That keeps the time from advancing.
func TestCallersInABubbleDoNotRest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, 0, func() { time.Sleep(time.Second) })
		pass(time.Second / 2)
		assert.Zero(t, e.pushing(t, 100*assistEvery, 0))
	})
}
