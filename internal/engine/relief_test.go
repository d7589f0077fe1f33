package engine

import (
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

func TestNoticeThatEndsItsGoroutineIsNotHeld(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, func(c *Config) { c.MaxPending = 1 })
		task := &noticeTask{then: runtime.Goexit}
		require.True(t, e.add(t, task, time.Hour).Cancel())
		pass(2 * tick)
		assert.Equal(t, [2]int{0, 1}, task.counts())
		assert.Zero(t, e.core.env.limit.Held())
	})
}

// Another caller's batch may be too large to drain in a short time.
func TestBatchHelpsInProportionToItsSize(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		for i := range e.core.intake.stripes { // as if other callers pushed
			e.core.intake.stripes[i].accepted.Add(1 << 40)
		}
		_, err := e.NewTimeouts([]hwt.TimerTask{new(noticeTask), new(noticeTask)}, time.Hour)
		assert.NoError(t, err, "it returned")
		for i := range e.core.intake.stripes {
			e.core.intake.stripes[i].accepted.Add(-1 << 40)
		}
	})
}

// wary lets reliefs come after each alarm, as if the worker had just been late.
func (e *timer) wary() { e.core.worker.sleeper.Load().reliefs.waryUntil = never }

// A caller holds mu while the first reliefs come.
func TestLaterReliefFindsTheLockFree(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t) // whose worker, the test, never runs
		e.wary()
		e.core.worker.workers.Add(1)
		timeout := e.after(t, 5*tick, nothing)
		require.Equal(t, sleep, e.finish(t))
		e.core.mu.Lock()
		pass(5*tick + reliefAfter[3])
		e.core.mu.Unlock()
		assert.False(t, timeout.IsExpired())
		pass(reliefAfter[4] - reliefAfter[3])
		assert.True(t, timeout.IsExpired())
		e.core.worker.workers.Add(-1)
	})
}

// rest takes the steps of the worker until it sleeps until an alarm, or for good.
func (e *timer) rest(t *testing.T) {
	t.Helper()
	for e.finish(t); e.core.intake.phase.Load() != asleep; e.finish(t) {
		e.core.worker.sleeper.Load().stop()
		time.Sleep(time.Duration(e.core.intake.alarm.at.Load() - e.core.env.clock.Now()))
	}
}

// restLate is rest with a step that comes late.
func (e *timer) restLate(t *testing.T, late time.Duration) {
	t.Helper()
	e.after(t, 5*tick, nothing)
	e.rest(t)
	e.core.worker.sleeper.Load().stop()
	time.Sleep(time.Duration(e.core.intake.alarm.at.Load()-e.core.env.clock.Now()) + late)
	e.rest(t)
}

func TestReliefsAreSetOnceTheWorkerWasLate(t *testing.T) {
	for name, c := range map[string]struct {
		late, since time.Duration
		at          []int // the reliefs that are set
	}{
		"on time":     {lateWake, 0, nil},
		"late":        {lateWake + 1, 0, []int{0, 1, 2, 3, 4}},
		"late before": {lateWake + 1, wary, nil},
	} {
		inBubble(t, func(t *testing.T) {
			e := newIdleTimer(t) // whose worker, the test, never runs
			e.restLate(t, c.late)
			e.stopReliefs()
			time.Sleep(c.since)
			e.after(t, 5*tick, nothing)
			assert.Equal(t, c.at, e.stopReliefs(), name)
		})
	}
}

// stopReliefs stops the reliefs, and returns those that were set.
func (e *timer) stopReliefs() (set []int) {
	for i, r := range e.core.worker.sleeper.Load().reliefs.errands {
		if r.Stop() {
			set = append(set, i)
		}
	}
	return set
}

func TestEachReliefReplacesTheWorker(t *testing.T) {
	for i, late := range reliefAfter {
		inBubble(t, func(t *testing.T) {
			e := newIdleTimer(t) // whose worker, the test, never runs
			e.restLate(t, 2*lateWake)
			timeout := e.after(t, 5*tick, nothing)
			at := time.Duration(e.core.intake.alarm.at.Load() - e.core.env.clock.Now())
			for j, r := range e.core.worker.sleeper.Load().reliefs.errands {
				if j != i {
					r.Stop()
				}
			}
			e.core.worker.workers.Add(1)
			time.Sleep(at + late - 1)
			assert.False(t, timeout.IsExpired())
			pass(1)
			assert.True(t, timeout.IsExpired(), i)
			e.core.worker.workers.Add(-1)
		})
	}
}

// A token wakes the worker long before its alarm, but it does not get to run.
func TestWorkerThatWasWokenByATokenIsRelieved(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t) // whose worker, the test, never runs
		e.core.worker.workers.Add(1)
		timeout := e.after(t, 100*tick, nothing)
		e.rest(t)
		e.flood(t, 1)
		e.core.wakeWorker()
		pass(reliefAfter[afterToken])
		e.core.mu.Lock()
		assert.Len(t, e.wheel.added, 2)
		e.core.mu.Unlock()
		assert.False(t, timeout.IsExpired())
		e.core.worker.workers.Add(-1)
	})
}

// A caller holds mu when the relief of a token comes.
func TestReliefOfATokenFindsTheLockFree(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t) // whose worker, the test, never runs
		e.core.worker.workers.Add(1)
		e.after(t, time.Hour, nothing)
		e.rest(t)
		e.wary() // for the alarm that the relief sets
		e.core.mu.Lock()
		timeout := e.after(t, 0, nothing)
		pass(reliefAfter[afterToken])
		e.core.mu.Unlock()
		pass(2 * tick)
		assert.True(t, timeout.IsExpired())
		e.core.worker.workers.Add(-1)
	})
}

// The alarm that the relief of a token sets has no reliefs: the worker takes its turn (R1).
func TestWorkerComesAfterTheReliefOfAToken(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t) // whose worker, the test, waits for a processor
		e.core.worker.workers.Add(1)
		e.after(t, time.Hour, nothing)
		e.rest(t)
		e.flood(t, 1)
		e.core.wakeWorker()
		pass(reliefAfter[afterToken])
		require.Zero(t, e.core.intake.backlog(), "the relief came")
		timeout := e.after(t, 5*tick, nothing)
		pass(time.Second)
		assert.False(t, timeout.IsExpired())
		e.finish(t)
		assert.True(t, timeout.IsExpired())
		e.core.worker.workers.Add(-1)
	})
}

// The worker notes its lateness itself: a relief that took its place was on time.
func TestRelievedWorkerNotesItsLateness(t *testing.T) {
	for name, c := range map[string]struct {
		late time.Duration
		wary bool
	}{"on time": {lateWake, false}, "late": {lateWake + 1, true}} {
		inBubble(t, func(t *testing.T) {
			e := newIdleTimer(t) // whose worker, the test, is late
			e.after(t, 5*tick, nothing)
			e.rest(t)
			time.Sleep(time.Duration(e.core.intake.alarm.at.Load()-e.core.env.clock.Now()) + c.late)
			e.core.worker.sleep()
			assert.Equal(t, c.wary, e.core.worker.sleeper.Load().reliefs.waryUntil > 0, name)
		})
	}
}

// No goroutine takes the token of a worker that waits for a processor. Another caller sets its
// alarm at that moment, or a relief of an earlier alarm comes.
func TestReliefOfATokenIsNotPostponed(t *testing.T) {
	for name, set := range map[string]func(e *timer, wake func(), timeout *Timeout){
		"earlier": func(e *timer, wake func(), _ *Timeout) { e.wheel.onNext = wake; e.after(t, 50*tick, nothing) },
		"off":     func(e *timer, wake func(), timeout *Timeout) { e.wheel.onNext = wake; timeout.Cancel() },
		"relief":  func(e *timer, wake func(), _ *Timeout) { wake(); e.core.worker.runRelief() },
	} {
		inBubble(t, func(t *testing.T) {
			e := newIdleTimer(t) // whose worker, the test, never runs
			e.core.worker.workers.Add(1)
			task := new(noticeTask)
			cancelled := e.add(t, task, time.Hour)
			timeout := e.after(t, 100*tick, nothing)
			e.rest(t)
			set(e, func() {
				cancelled.state.cancel()
				e.core.schedule.remove(cancelled) // as a caller that drains
				e.core.wakeWorker()
			}, timeout)
			require.Nil(t, e.wheel.onNext)
			pass(3 * maxOnTime)
			assert.Equal(t, [2]int{0, 1}, task.counts(), name)
			e.core.worker.workers.Add(-1)
		})
	}
}

func TestReliefLeavesARetiredWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, tick, nothing)
		pass(time.Second)
		require.Equal(t, unstarted, e.core.intake.phase.Load())
		e.core.intake.alarm.assistFrom.Store(0) // by a caller whose token was not needed
		e.core.worker.runRelief()
		assert.Zero(t, e.core.worker.workers.Load())
		assert.True(t, e.core.worker.sleeping)
	})
}

// On a busy machine, reliefs come before the worker.
func TestWaryWorkerRetiresAfterLinger(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t) // whose worker, the test, is late
		e.wary()
		e.core.worker.workers.Store(1)
		e.after(t, time.Hour, nothing).Cancel()
		e.rest(t)
		assert.Empty(t, e.stopReliefs())
		pass(linger)
		e.core.worker.runRelief()
		assert.Equal(t, retired, e.finish(t))
		assert.Zero(t, e.core.worker.workers.Load())
	})
}

// A relief runs a task when the goroutine that it replaced wakes (W4).
func TestGoroutineThatWakesDuringARelief(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t) // whose worker, the test, is late
		e.wary()
		e.core.worker.workers.Add(1)
		e.after(t, 5*tick, func() { time.Sleep(10 * tick); runtime.Goexit() })
		e.after(t, 5*tick, nothing)
		require.Equal(t, sleep, e.finish(t))
		pass(6 * tick)
		assert.Equal(t, sleep, e.step(), "it sleeps on")
		assert.EqualValues(t, 2, e.core.worker.workers.Load())
		assert.False(t, e.core.env.isWorker(e.shift.id))
		pass(10 * tick)
		assert.Zero(t, e.Pending(), "a relief survives a task that ends its goroutine")
		assert.EqualValues(t, 1, e.core.worker.workers.Load())

		e.after(t, tick, func() { time.Sleep(10 * tick) })
		pass(3 * tick)
		e.Stop()
		assert.Equal(t, replaced, e.step(), "it ends, and leaves the rest to the relief")
		e.core.worker.giveUp()
		pass(10 * tick)
		<-e.core.worker.done
	})
}

func TestStopFromATaskOfAReliefDoesNotWait(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t) // whose worker, the test, is late
		e.core.env.wait = time.Minute
		e.wary()
		e.core.worker.workers.Add(1)
		took := time.Hour
		e.after(t, 5*tick, func() {
			began := time.Now()
			e.Stop()
			took = time.Since(began)
		})
		require.Equal(t, sleep, e.finish(t))
		pass(time.Hour)
		assert.Zero(t, took)
		require.Equal(t, replaced, e.step())
		e.core.worker.giveUp()
		<-e.core.worker.done
	})
}

// A time past the range of a duration is the longest one, and not the present.
func TestReliefOfTheLongestAlarmDoesNotCome(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		came := false
		s := newSleeper(&errands{none: func() {}}, func() { came = true })
		defer s.stop()
		s.reliefs.waryUntil = 1
		s.set(0, math.MaxInt64)
		time.Sleep(tick)
		synctest.Wait()
		assert.False(t, came)
	})
}
