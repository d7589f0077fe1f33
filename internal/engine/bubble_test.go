package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/leak"
)

// century exceeds the time from the year 2000, where bubbles begin, to now.
const century = 100 * 365 * 24 * time.Hour

// sleepPast sleeps until the bubble's time is later than a timer made at start would wake,
// and still one that its clock trusts.
func sleepPast(start time.Time) { time.Sleep(time.Until(start.Add(50 * time.Second))) }

// The timer is outside of the bubble, on the real clock. The bubble's time is later (P5).
func TestCallsFromALaterBubbleMoveNothing(t *testing.T) {
	for name, call := range map[string]func(*timer, *Timeout){
		"Cancel":      func(_ *timer, earliest *Timeout) { earliest.Cancel() },
		"Reset":       func(_ *timer, earliest *Timeout) { earliest.Reset(time.Hour) },
		"NewTimeout":  func(e *timer, _ *Timeout) { _, _ = e.AfterFunc(time.Hour, nothing) },
		"NewTimeouts": func(e *timer, _ *Timeout) { _, _ = e.NewTimeouts(batchOf(1), 0) },
		"All": func(e *timer, _ *Timeout) {
			e.flood(t, 1)
			for range e.All() { //nolint:revive // The loop drains the intake.
			}
		},
		"drainAll":     func(e *timer, _ *Timeout) { e.core.drainAll() },
		"assistOrRest": func(e *timer, earliest *Timeout) { e.core.assistOrRest(e.core.intake.of(earliest), true) },
	} {
		start, e := time.Now(), newIdleTimer(t) // whose worker, the test, sleeps
		earliest := e.after(t, 20*time.Second, nothing)
		require.Equal(t, sleep, e.finish(t), name)
		e.after(t, 40*time.Second, nothing)
		e.core.drainAll()
		place := func() []int64 {
			in := &e.core.intake
			return []int64{int64(in.phase.Load()), in.alarm.covers.Load(), in.alarm.assistFrom.Load(), e.core.schedule.tick, in.alarm.at.Load()}
		}
		before := place()
		synctest.Test(t, func(*testing.T) {
			sleepPast(start)
			call(e, earliest)
		})
		assert.Equal(t, before, place(), name)
	}
}

// The timer is outside of the bubble, and a notice is left to it when no worker is there. Stop
// starts one in the bubble, whose time is before the timer's start.
func TestNoticeIsGivenByAStopInABubble(t *testing.T) {
	e := newTimer(t)
	notified := new(noticeTask)
	timeout := e.core.env.newTimeout(0, notified, 0)
	timeout.home = &e.workers[0]
	timeout.state.cancel()
	timeout.home.notifyLate(timeout)
	synctest.Test(t, func(t *testing.T) {
		e.Stop()
		synctest.Wait()
		assert.Equal(t, [2]int{0, 1}, notified.counts())
	})
}

// The worker finds the token of a caller in the bubble.
func TestCallFromALaterBubbleWakesTheWorker(t *testing.T) {
	e := newTimer(t)
	timeout := e.after(t, time.Hour, nothing)
	sleeps := func() bool {
		e.core.mu.Lock()
		defer e.core.mu.Unlock()
		return e.core.worker.sleeping && e.core.intake.phase.Load() == asleep
	}
	require.Eventually(t, sleeps, 10*time.Second, time.Millisecond)
	synctest.Test(t, func(*testing.T) {
		time.Sleep(century)
		timeout.Cancel()
	})
	drained := func() bool { return e.backlog() == 0 }
	require.Eventually(t, drained, 10*time.Second, time.Millisecond)
}

// The timer is outside of the bubble. A worker's goroutine would belong to the bubble.
func TestNoWorkerIsStartedFromALaterBubble(t *testing.T) {
	start, e := time.Now(), newTimer(t)
	synctest.Test(t, func(t *testing.T) {
		sleepPast(start)
		assert.Panics(t, e.Start)
		e.after(t, time.Hour, nothing)
		assert.Equal(t, unstarted, e.core.intake.phase.Load())
	})
	timeout := e.after(t, tick, nothing)
	require.Eventually(t, timeout.IsExpired, 10*time.Second, time.Millisecond)
}

// A Stop outside the bubble panics, and stops nothing.
func TestTimerWhoseStopPanickedCountsAsOpen(t *testing.T) {
	for name, stop := range map[string]func(*timer){
		"Stop":     func(e *timer) { e.Stop() },
		"Shutdown": func(e *timer) { _, _ = e.Shutdown(context.Background()) },
	} {
		scope := leak.NewScope(name)
		timers := leak.NewDetector[timer]("timer", &leak.Options{Scope: scope, SamplingInterval: 1})
		e := new(timer)
		synctest.Test(t, func(*testing.T) {
			e.Init(e, Config{Tick: tick, Workers: 1, NewWheel: newFlatWheel, Runner: new(enginekit.Runner), Tracker: timers.Track(e)})
		})
		assert.Panics(t, func() { stop(e) })
		assert.Len(t, scope.Reports(), 1, name)
		e.tracker.CloseFor(e)
	}
}
