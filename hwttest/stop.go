package hwttest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

// stopWithin is the longest time that Stop may wait, by default, for a task that does
// not end.
const stopWithin = 5*time.Second + 2*tick

var stopChecks = []check{
	{"StopReturnsThePendingTimeouts", fake, returnsPending(byStop)},
	{"StopFromManyGoroutines", realClock, stopTogether(byStop, byStop, byStop, byStop)},
	{"StopRejectsNewTimeouts", fake, stopRefuses},
	{"StopFromInsideATask", fake, stopInsideTask(byStop, nil)},
	{"StopDoesNotWaitForever", fake, stopDuringEndlessTask},
	{"StopWaitsForARunningTask", fake, stopWaits},
	{"NoTaskBeginsAfterStop", realClock, noneBegins},
}

// stopper stops an engine.
type stopper func(tb testing.TB, e hwt.Engine) []hwt.Timeout

func byStop(_ testing.TB, e hwt.Engine) []hwt.Timeout { return e.Stop() }

// shutDown is Shutdown with enough time, and fails the check on an error.
func shutDown(tb testing.TB, e hwt.Engine) []hwt.Timeout {
	unprocessed, err := e.Shutdown(within(tb, 100*time.Hour))
	require.NoError(tb, err)
	return unprocessed
}

// returnsPending stops unused engines and one with timeouts in every state.
func returnsPending(stop stopper) func(testing.TB, factory) {
	return func(tb testing.TB, newTimer factory) {
		assert.Empty(tb, stop(tb, newTimer.start(tb, Options{})), "unused")
		started := newTimer.start(tb, Options{})
		started.Start()
		assert.Empty(tb, stop(tb, started), "without a timeout")

		e := newTimer.start(tb, Options{})
		_, expired := scheduleAll(tb, e, 10, tick, newProbe)
		_, cancelled := scheduleAll(tb, e, 10, time.Minute, newProbe)
		_, want := scheduleAll(tb, e, 10, 5*tick, newProbe)
		for i := range 3000 {
			want = append(want, schedule(tb, e, nothing, time.Duration(i+1)*time.Minute))
		}
		pass(3 * tick)
		for _, timeout := range cancelled {
			timeout.Cancel()
		}
		_, fresh := scheduleAll(tb, e, 10, tick, newProbe)
		want = append(want, fresh...)
		schedule(tb, e, nothing, time.Second).Cancel()

		begin := time.Now()
		sameTimeouts(tb, want, stop(tb, e))
		assert.Equal(tb, begin, time.Now(), "it waits for nothing")
		for _, timeout := range expired {
			assert.True(tb, timeout.IsExpired())
		}
		for _, timeout := range want {
			assert.True(tb, timeout.IsCancelled())
			assert.False(tb, timeout.IsExpired() || timeout.Cancel() || timeout.Reset(tick))
		}
		_, err := e.NewTimeout(nothing, 0)
		assert.ErrorIs(tb, err, hwt.ErrStopped)
		for range 2 {
			assert.Empty(tb, stop(tb, e), "again")
			pass(time.Hour)
		}
		s := balanced(tb, e)
		assert.Equal(tb, [4]int64{0, 10, 11, 3020}, [4]int64{s.Pending, s.Expired, s.Cancelled, s.Unprocessed})
	}
}

// stopTogether calls each of stops concurrently. It uses the real clock because the calls
// must overlap.
func stopTogether(stops ...stopper) func(testing.TB, factory) {
	return func(tb testing.TB, newTimer factory) {
		for range 20 {
			e := newTimer.start(tb, Options{})
			_, want := scheduleAll(tb, e, 1000, time.Hour, newProbe)
			results := make([][]hwt.Timeout, len(stops))
			together(len(stops), func(i int) {
				results[i] = stops[i](tb, e)
				for _, timeout := range want {
					assert.True(tb, timeout.IsCancelled(), "each returns only when all is stopped")
				}
			})
			var got []hwt.Timeout
			for _, result := range results {
				if len(result) > 0 {
					assert.Empty(tb, got, "two calls returned timeouts")
					got = result
				}
			}
			sameTimeouts(tb, want, got)
		}
	}
}

func stopRefuses(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{MaxPendingTimeouts: 3})
	schedule(tb, e, nothing, time.Hour)
	e.Stop()
	before := e.Stats()
	for range 10 {
		timeout, err := e.NewTimeout(nothing, tick)
		require.ErrorIs(tb, err, hwt.ErrStopped)
		require.Nil(tb, timeout)
		timeout, err = e.AfterFunc(tick, func() {})
		require.ErrorIs(tb, err, hwt.ErrStopped)
		require.Nil(tb, timeout)
	}
	pass(time.Minute)
	assert.Zero(tb, e.Pending(), "a refused timeout leaves no count behind")
	assert.Equal(tb, before.Accepted, balanced(tb, e).Accepted)
}

// stopInsideTask stops an engine from two of its tasks.
func stopInsideTask(stop stopper, executors ...hwt.Executor) func(testing.TB, factory) {
	return func(tb testing.TB, newTimer factory) {
		outlast(tb)
		for _, pool := range executors {
			e := newTimer.start(tb, Options{Executor: pool})
			_, want := scheduleAll(tb, e, 10, time.Hour, newProbe)
			var mu sync.Mutex
			var got []hwt.Timeout
			var began, done mark
			for range 2 {
				schedule(tb, e, task(func(timeout hwt.Timeout) {
					began.set()
					unprocessed := stop(tb, e)
					assert.True(tb, timeout.IsExpired(), "the task's own timeout expired")
					_, err := e.NewTimeout(nothing, 0)
					assert.ErrorIs(tb, err, hwt.ErrStopped)
					mu.Lock()
					defer mu.Unlock()
					got = append(got, unprocessed...)
					done.set()
				}), tick)
			}
			pass(2 * time.Minute)
			require.Greater(tb, done.count(), 0, "it did not return, executor %v", pool)
			assert.Equal(tb, began.at(), done.at(), "it waited for the task that called it, executor %v", pool)
			contains(tb, got, want)
			assert.Empty(tb, stop(tb, e), "again")
			balanced(tb, e)
		}
	}
}

func stopDuringEndlessTask(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	schedule(tb, e, task(func(hwt.Timeout) { time.Sleep(time.Hour) }), tick)
	_, want := scheduleAll(tb, e, 10, time.Minute, newProbe)
	pass(3 * tick)
	begin := time.Now()
	var got, second []hwt.Timeout
	together(2, func(i int) {
		if i == 0 {
			got = e.Stop()
		} else {
			second = e.Stop()
		}
	})
	assert.LessOrEqual(tb, time.Since(begin), 2*stopWithin, "Stop waited too long")
	sameTimeouts(tb, want, append(got, second...))
	for _, timeout := range want {
		assert.True(tb, timeout.IsCancelled())
	}
	pass(2 * time.Hour)
	balanced(tb, e)
}

func stopWaits(tb testing.TB, newTimer factory) {
	var began, ended mark
	stopOutlasts(tb, newTimer, &ended, task(func(hwt.Timeout) {
		began.set()
		time.Sleep(time.Second)
		ended.set()
	}), func(hwt.Timeout) {})
	assert.Equal(tb, began.at().Add(time.Second), ended.at())
}

func stopWaitsForCancelled(tb testing.TB, newTimer factory) {
	var ended mark
	stopOutlasts(tb, newTimer, &ended, &sleepsOnCancel{then: ended.set}, func(timeout hwt.Timeout) { timeout.Cancel() })
}

// stopOutlasts stops an engine from two goroutines while user code runs that ends within a
// second. end ends the timeout.
func stopOutlasts(tb testing.TB, newTimer factory, ended *mark, task hwt.TimerTask, end func(hwt.Timeout)) {
	e := newTimer.start(tb, Options{})
	end(schedule(tb, e, task, 3*tick))
	pass(6 * tick)
	require.Zero(tb, ended.count())
	together(2, func(int) {
		e.Stop()
		assert.Equal(tb, 1, ended.count(), "Stop did not wait")
	})
	assert.Equal(tb, ended.at(), time.Now(), "Stop waited for longer")
	pass(time.Minute)
}

// sleepsOnCancel is a task with a Cancelled method that takes a second.
type sleepsOnCancel struct{ then func() }

func (*sleepsOnCancel) Run(hwt.Timeout) error { return nil }

func (s *sleepsOnCancel) Cancelled(hwt.Timeout) {
	time.Sleep(time.Second)
	s.then()
}

// noneBegins uses the real clock because a task must be about to start on one processor
// when Stop returns on another.
func noneBegins(tb testing.TB, newTimer factory) {
	for range 20 {
		e := newTimer.start(tb, Options{TickDuration: time.Millisecond})
		var stopped atomic.Bool
		var late atomic.Int64
		for i := range 1000 {
			schedule(tb, e, task(func(hwt.Timeout) {
				if stopped.Load() {
					late.Add(1)
				}
			}), time.Duration(i)*4*time.Microsecond)
		}
		time.Sleep(2 * time.Millisecond)
		e.Stop()
		stopped.Store(true)
		time.Sleep(2 * time.Millisecond)
		assert.Zero(tb, late.Load(), "tasks began after Stop")
	}
}
