package engine

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/enginekit"
)

func TestNoWorkerBeforeTheFirstTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		pass(time.Hour)
		assert.Equal(t, unstarted, e.core.intake.phase.Load())
		assert.Zero(t, e.core.worker.workerID.Load())
		e.after(t, time.Second, nothing)
		assert.Equal(t, ticking, e.core.intake.phase.Load())
		synctest.Wait()
		assert.NotZero(t, e.core.worker.workerID.Load())
	})
}

func TestWorkerParksWithoutPendingTimeouts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.Start()
		e.after(t, tick, nothing)
		pass(4 * tick)
		assert.Equal(t, asleep, e.core.intake.phase.Load())
		before := e.Stats()
		pass(1000 * time.Hour)
		assert.Equal(t, before, e.Stats())
	})
}

func TestWorkerSleepsToTheWheelsNextTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		var at []time.Duration
		e.core.intake.phase.Store(ticking) // so that the worker drains all three together when it starts
		for _, ticks := range []time.Duration{100, 5000, 5001} {
			e.after(t, ticks*tick, func() { at = append(at, time.Duration(e.core.env.clock.Now())) })
		}
		e.core.intake.phase.Store(unstarted)
		e.Start()
		pass(6000 * tick)
		assert.Equal(t, []time.Duration{100 * tick, 5000 * tick, 5001 * tick}, at)
		assert.Equal(t, []int64{100, 5000, 5001}, e.wheel.moves, "one wake-up per tick with a due timeout")
		assert.EqualValues(t, 3, e.Stats().Wakeups)
	})
}

// The caller drains the timeout for the sleeping worker and sets its alarm. The worker
// wakes once, when the timeout is due.
func TestLoneTimeoutWakesASleepingWorkerOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, 1000*time.Hour, nothing)
		for range 100 {
			pass(5*tick + rand.N(100*tick))
			require.Equal(t, asleep, e.core.intake.phase.Load())
			before, begin := e.Stats().Wakeups, e.core.env.clock.Now()
			delay := 1 + rand.N(9*tick)
			var ran int64
			e.after(t, delay, func() { ran = e.core.env.clock.Now() })
			pass(10 * tick)
			deadline := begin + int64(delay)
			require.Equal(t, (deadline+int64(tick)-1)/int64(tick)*int64(tick), ran)
			require.EqualValues(t, 1, e.Stats().Wakeups-before)
		}
		assert.EqualValues(t, 1, e.Pending())
	})
}

func TestTimeoutBehindTheAlarmDoesNotWakeTheWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, 50*tick, nothing)
		pass(tick)
		var ran []time.Duration
		for i := range time.Duration(10) {
			delay := 60*tick + i
			e.after(t, delay, func() { ran = append(ran, time.Duration(e.core.env.clock.Now())) })
		}
		cancelled := e.after(t, 70*tick, nothing)
		pass(tick)
		require.True(t, cancelled.Cancel())
		assert.True(t, e.core.intake.of(cancelled).backlog() == 0, "discarded by its Cancel")
		pass(100 * tick)
		assert.Equal(t, slices.Repeat([]time.Duration{62 * tick}, 9), ran[1:])
		assert.EqualValues(t, 4, e.Stats().Wakeups, "the last one to retire")
	})
}

func TestCancelOfTheEarliestPostponesTheAlarm(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		first, second := e.after(t, 50*tick, nothing), e.after(t, 100*tick, nothing)
		pass(tick)
		before := e.Stats().Wakeups
		require.True(t, first.Cancel())
		pass(98 * tick)
		assert.Equal(t, before, e.Stats().Wakeups)
		pass(tick)
		assert.Equal(t, before+1, e.Stats().Wakeups)
		assert.True(t, second.IsExpired())
		assert.Equal(t, asleep, e.core.intake.phase.Load())
	})
}

// A timeout waits in the intake for the alarm. A Cancel must not postpone that alarm.
func TestAlarmOfAQueuedTimeoutIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
		e := newTimer(t)
		require.Greater(t, len(e.core.intake.stripes), 1)
		first := e.after(t, 50*tick, nothing)
		e.after(t, time.Hour, nothing) // or the worker would look again to retire
		pass(tick)
		queued := first
		for e.core.intake.of(queued) == e.core.intake.of(first) {
			queued = &Timeout{state: newState(e.core.env.clock.Deadline(60 * tick)), home: &e.workers[0], task: enginekit.Func(nothing)}
		}
		s := e.core.intake.of(queued) // as NewTimeout does
		s.accepted.Add(1)
		require.True(t, s.added.Push(queued))
		e.core.ensureDrained(s, queued.state.drainBy())
		require.EqualValues(t, 1, s.backlog(), "left to the worker")
		require.True(t, first.Cancel())
		require.Equal(t, asleep, e.core.intake.phase.Load())
		pass(60 * tick)
		assert.True(t, queued.IsExpired())
	})
}

// The timeout is in the intake, and would be drained only at the alarm.
func TestResetOfAQueuedTimeoutIsOnTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, 50*tick, nothing)
		pass(tick)
		var ran time.Duration
		timeout := e.after(t, 60*tick, func() { ran = time.Duration(e.core.env.clock.Now()) })
		require.True(t, timeout.Reset(5*tick))
		pass(10 * tick)
		assert.Equal(t, 6*tick, ran)
	})
}

// A Reset sets queued. Another Reset relies on its push, which happens only afterwards.
func TestResetBeforeAPushIsOnTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, 50*tick, nothing)
		ran := false
		timeout := e.after(t, 100*tick, func() { ran = true })
		pass(tick)
		deadline := e.core.env.clock.Deadline(60 * tick) // after the alarm
		was, ok := timeout.state.rearm(deadline)
		require.True(t, ok)
		require.True(t, timeout.Reset(5*tick))
		pass(2 * tick) // the worker wakes, finds no push, and sleeps
		require.Equal(t, asleep, e.core.intake.phase.Load())
		timeout.home.pushAdvanced(timeout, was, deadline)
		pass(5 * tick)
		assert.True(t, ran)
	})
}

// A Cancel relies on the push. Its notice must not wait for the alarm.
func TestCancelBeforeAPushIsNotified(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, 50*tick, nothing)
		task := new(noticeTask)
		timeout := e.add(t, task, 100*tick)
		pass(tick)
		deadline := e.core.env.clock.Deadline(60 * tick)
		was, ok := timeout.state.rearm(deadline)
		require.True(t, ok)
		require.True(t, timeout.Cancel())
		pass(2 * tick)
		timeout.home.pushAdvanced(timeout, was, deadline)
		pass(2 * tick)
		assert.Equal(t, [2]int{0, 1}, task.counts())
	})
}

// With more than one timeout per millisecond, the worker drains at every tick, and callers
// need not wake it.
func TestWorkerTicksWhileThereIsTraffic(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, time.Hour, nothing)
		pass(5 * tick)
		require.Equal(t, asleep, e.core.intake.phase.Load())
		for i := range 5*tick/fewEvery + minTraffic + sleeperTraffic + 10 { // each before the alarm
			e.after(t, time.Minute-i*tick, nothing)
		}
		synctest.Wait()
		for range 20 {
			for range tick/fewEvery + minTraffic + 1 {
				e.after(t, time.Hour, nothing)
			}
			pass(tick)
			require.Equal(t, ticking, e.core.intake.phase.Load())
		}
		pass(tick) // without traffic
		assert.Equal(t, asleep, e.core.intake.phase.Load())
		assert.EqualValues(t, 22, e.Stats().Ticks)
	})
}

// The worker drains the timeouts that tasks schedule before it sleeps.
func TestChainOfTimeoutsTakesOneWakeUpEach(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		links := 0
		var link func()
		link = func() {
			if links++; links < 100 {
				e.after(t, 5*tick, link)
			}
		}
		link()
		pass(99 * 5 * tick)
		assert.Equal(t, 100, links)
		assert.EqualValues(t, 99, e.Stats().Wakeups)
	})
}

// The worker is woken in one tick, and scheduled by the system in a later one.
func TestLateWorkerDoesNotWaitForAnotherTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		require.Equal(t, sleep, e.step())
		require.Equal(t, asleep, e.core.intake.phase.Load())
		timeout := e.after(t, tick, nothing)
		time.Sleep(3*tick + 1)
		require.Equal(t, goOn, e.step())
		e.core.worker.fire()
		assert.True(t, timeout.IsExpired())
	})
}

// The push comes after the round that found the intake empty and before the worker enters
// asleep, so the caller does not wake the worker.
func TestPushBeforeTheWorkerSleepsIsSeen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		e.core.schedule.draining.stale = false // as after a drain
		timeout := e.after(t, time.Hour, nothing)
		require.Equal(t, goOn, e.step())
		require.Equal(t, ticking, e.core.intake.phase.Load())
		require.Equal(t, sleep, e.step())
		assert.Contains(t, e.wheel.added, timeout)
	})
}

func TestWakeUpsRacingWithSleepAreNotLost(t *testing.T) {
	e := newTimer(t, func(c *Config) { c.Tick = 100 * time.Microsecond })
	fired := make(chan struct{})
	for range 300 { // The real clock, to meet the worker at any step.
		e.after(t, rand.N(300*time.Microsecond), func() { fired <- struct{}{} })
		select {
		case <-fired:
		case <-time.After(10 * time.Second):
			require.Fail(t, "the worker did not wake")
		}
		time.Sleep(rand.N(300 * time.Microsecond))
	}
}
