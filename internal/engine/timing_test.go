package engine

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
)

func TestLatenessIsCountedForEveryTask(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		for i := range time.Duration(1000) {
			e.after(t, i*tick/100, nothing)
		}
		e.after(t, tick, nothing).Cancel()
		pass(11 * tick)
		h := e.Stats().Lateness
		assert.EqualValues(t, 1000, h.Count())
		assert.Less(t, h.Quantile(1), 2*tick, "fake time: each waits for its tick")
		assert.Less(t, h.Sum, 1000*tick)
		assert.Greater(t, h.Sum, 300*tick)
	})
}

// Tasks wait for the tasks before them in the same tick.
func TestLatenessIncludesTheTasksAhead(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		const n = 100
		for range n {
			e.after(t, tick, func() { time.Sleep(time.Second) })
		}
		pass(3 * tick)
		assert.Equal(t, tick, e.Stats().Lag, "the worker was due at tick 2")
		pass(n * time.Second)
		s := e.Stats()
		assert.EqualValues(t, n, s.Lateness.Count())
		var want hwt.Histogram
		for i := range time.Duration(n) {
			want.Sum += i * time.Second
		}
		assert.InDelta(t, float64(want.Sum), float64(s.Lateness.Sum), float64(3*time.Second))
		assert.Equal(t, n*time.Second, s.TaskTime)
		assert.Equal(t, time.Second, s.SlowestTaskTime)
		assert.Contains(t, s.SlowestTask, "TestLatenessIncludesTheTasksAhead")
	})
}

// The clock is read once per 64 quick tasks, and once per slow task.
func TestSlowTasksAreTimedOneByOne(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		m := &e.core.firing.timing
		run := func(n int, f func()) {
			for range n {
				e.after(t, tick, f)
			}
			pass(3*tick + time.Duration(n)*time.Millisecond)
		}
		run(maxTimed, nothing)
		assert.GreaterOrEqual(t, m.next, maxTimed/2)
		run(2*maxTimed, nothing)
		assert.Equal(t, maxTimed, m.next)
		run(maxTimed+1, func() { time.Sleep(time.Millisecond) })
		assert.Equal(t, 1, m.next)
		run(4*maxTimed, nothing)
		assert.Equal(t, maxTimed, m.next)
	})
}

func TestGoexitLosesNoLateness(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		for i := range 300 {
			e.after(t, tick, func() {
				switch i % 7 {
				case 0:
					runtime.Goexit()
				case 1:
					panic("no good")
				}
			})
		}
		pass(3 * tick)
		s := e.Stats()
		assert.EqualValues(t, 300, s.Lateness.Count())
		assert.Equal(t, s.Expired, s.Lateness.Count())
	})
}

func TestLagFallsAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, tick, func() { time.Sleep(10 * time.Second) })
		pass(5 * time.Second)
		s := e.Stats()
		assert.Equal(t, 5*time.Second-2*tick, s.Lag)
		assert.Equal(t, s.Lag, s.MaxLag, "includes the current interval")
		pass(6 * time.Second)
		e.after(t, tick, nothing)
		pass(2 * tick)
		s = e.Stats()
		assert.Zero(t, s.Lag)
		assert.Equal(t, 10*time.Second-tick, s.MaxLag)
		assert.Equal(t, 10*time.Second, s.SlowestTaskTime)
		pass(time.Minute)
		assert.Zero(t, e.Stats().MaxLag)
		assert.Zero(t, e.Stats().SlowestTaskTime)
		assert.Empty(t, e.Stats().SlowestTask)
	})
}

func TestMaximumIsForgottenAfterAMinute(t *testing.T) {
	var l lags
	at := func(now int64) time.Duration {
		var s hwt.Stats
		l.addTo(&s, now, 0)
		return s.MaxLag
	}
	l.note(interval-1, 50)
	l.note(interval-1, 40)
	l.note(interval, 30)
	assert.EqualValues(t, 50, at(interval))
	assert.EqualValues(t, 50, at(interval*intervals-1))
	assert.EqualValues(t, 30, at(interval*intervals))
	assert.Zero(t, at(interval*(intervals+1)))
	l.note(interval*intervals, 20) // reuses the entry of the first interval
	assert.EqualValues(t, 30, at(interval*intervals))
	assert.EqualValues(t, 20, at(interval*(intervals+1)))
}

// Stats show the backlog of a blocked worker, and its age.
func TestIntakeIsShownWithItsAge(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, time.Hour, nothing)
		pass(time.Minute)
		assert.Zero(t, e.Stats().Intake)
		assert.Zero(t, e.Stats().IntakeAge)

		for range 40 { // the worker drains at every tick
			for range 2 * sleeperTraffic {
				e.after(t, time.Hour, nothing)
			}
			pass(tick)
		}
		e.after(t, tick, func() { time.Sleep(time.Minute) })
		pass(tick + time.Second)
		e.core.intake.alarm.assistFrom.Store(never) // no caller assists
		for range 10 {
			e.after(t, time.Hour, nothing)
		}
		pass(time.Second)
		s := e.Stats()
		assert.EqualValues(t, 10, s.Intake)
		assert.GreaterOrEqual(t, s.IntakeAge, time.Second)
		assert.LessOrEqual(t, s.IntakeAge, 2*time.Second+2*tick)
		pass(time.Minute)
		assert.Zero(t, e.Stats().Intake)
		assert.Zero(t, e.Stats().IntakeAge)
	})
}

// A worker is woken after a long sleep. The age of the intake must not include the sleep.
func TestAgeOfTheIntakeStartsAtTheWakeUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		assert.Equal(t, sleep, e.finish(t))
		time.Sleep(time.Hour)
		e.core.wakeWorker()
		e.core.worker.sleeper.Load().stop() // the worker is the test
		e.flood(t, 1)
		time.Sleep(tick)
		assert.Equal(t, tick, e.Stats().IntakeAge)
		synctest.Wait()
	})
}
