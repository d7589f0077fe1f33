package hwttest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

// stopWithin is the longest time that Stop may wait, by default, for a task that does
// not end.
const stopWithin = 5*time.Second + 2*tick

var stopChecks = []check{
	{"StopReturnsThePendingTimeouts", fake, stopReturnsPending},
	{"StopOfAnUnusedTimer", fake, stopUnused},
	{"StopWithEverythingPending", fake, stopEverythingPending},
	{"StopReturnsNoTimeoutsTwice", fake, stopTwice},
	{"StopFromManyGoroutines", fake, stopConcurrently},
	{"StopEndsItsTimeouts", fake, stopEndsTimeouts},
	{"StopRejectsNewTimeouts", fake, stopRefuses},
	{"StopFromInsideATask", fake, stopInsideTask},
	{"StopFromAGoroutineThatATaskAwaits", fake, stopAwaitedByTask},
	{"StopDoesNotWaitForever", fake, stopDuringEndlessTask},
	{"StopWaitsForARunningTask", fake, stopWaits},
	{"NoTaskRunsAfterStop", fake, nothingAfterStop},
	{"NoTaskBeginsAfterStop", realClock, noneBegins},
	{"StopAfterResets", fake, stopAfterResets},
}

func stopReturnsPending(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	_, expired := scheduleAll(tb, e, 10, tick, newProbe)
	_, cancelled := scheduleAll(tb, e, 10, time.Minute, newProbe)
	_, near := scheduleAll(tb, e, 10, 5*tick, newProbe)
	_, far := scheduleAll(tb, e, 10, 100*time.Hour, newProbe)
	pass(3 * tick)
	for _, timeout := range cancelled {
		timeout.Cancel()
	}
	_, fresh := scheduleAll(tb, e, 10, time.Second, newProbe)
	freshCancelled := schedule(tb, e, nothing, time.Second)
	freshCancelled.Cancel()

	want := append(append(near, far...), fresh...)
	sameTimeouts(tb, want, e.Stop())
	for _, timeout := range expired {
		assert.True(tb, timeout.IsExpired())
	}
	s := balanced(tb, e)
	assert.Equal(tb, [4]int64{0, 10, 11, 30}, [4]int64{s.Pending, s.Expired, s.Cancelled, s.Unprocessed})
}

func stopUnused(tb testing.TB, newTimer factory) {
	begin := time.Now()
	assert.Empty(tb, newTimer.start(tb, Options{}).Stop())
	started := newTimer.start(tb, Options{})
	started.Start()
	assert.Empty(tb, started.Stop())
	assert.Empty(tb, started.Stop())
	assert.LessOrEqual(tb, time.Since(begin), 2*tick)
}

func stopEverythingPending(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var want []hwt.Timeout
	for i := range 3000 {
		want = append(want, schedule(tb, e, nothing, time.Duration(i+1)*time.Second))
		if i == 1500 {
			pass(tick / 2)
		}
	}
	sameTimeouts(tb, want, e.Stop())
}

func stopTwice(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	scheduleAll(tb, e, 5, time.Hour, newProbe)
	assert.Len(tb, e.Stop(), 5)
	for range 3 {
		assert.Empty(tb, e.Stop())
		pass(time.Minute)
	}
	assert.Equal(tb, 5, balanced(tb, e).Unprocessed)
	assert.Zero(tb, e.Pending(), "a second Stop counts nothing down")
}

func stopConcurrently(tb testing.TB, newTimer factory) {
	for range 20 {
		e := newTimer.start(tb, Options{})
		_, want := scheduleAll(tb, e, 1000, time.Hour, newProbe) // Enough for the calls to overlap.
		results := make([][]hwt.Timeout, 8)
		together(len(results), func(i int) {
			results[i] = e.Stop()
			for _, timeout := range want {
				assert.True(tb, timeout.IsCancelled(), "every Stop returns only when all is stopped")
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

func stopEndsTimeouts(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	tasks, timeouts := scheduleAll(tb, e, 10, 5*tick, newProbe)
	e.Stop()
	for _, timeout := range timeouts {
		assert.True(tb, timeout.IsCancelled())
		assert.False(tb, timeout.IsExpired())
		assert.False(tb, timeout.Cancel())
		assert.False(tb, timeout.Reset(tick))
		same(tb, e, timeout.Timer(), "Timer")
		_, ok := timeout.Task().(*probe)
		assert.True(tb, ok, "the task is a %T", timeout.Task())
	}
	pass(time.Hour)
	for _, p := range tasks {
		assert.Zero(tb, p.ran.count())
		assert.Zero(tb, p.notified.count(), "Cancelled is not called for timeouts that Stop ends")
	}
	s := balanced(tb, e)
	assert.Zero(tb, s.Cancelled)
	assert.Equal(tb, 10, s.Unprocessed)
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

func stopInsideTask(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	_, want := scheduleAll(tb, e, 10, time.Hour, newProbe)
	var got []hwt.Timeout
	var began, done mark
	own := schedule(tb, e, task(func(hwt.Timeout) {
		began.set()
		got = e.Stop()
		_, err := e.NewTimeout(nothing, 0)
		assert.ErrorIs(tb, err, hwt.ErrStopped)
		assert.Empty(tb, e.Stop(), "again")
		done.set()
	}), tick)
	pass(time.Minute)
	require.Equal(tb, 1, done.count(), "Stop did not return")
	assert.Equal(tb, began.at(), done.at(), "Stop waited for the task that called it")
	sameTimeouts(tb, want, got)
	assert.True(tb, own.IsExpired(), "the task's own timeout expired")
	assert.Empty(tb, e.Stop())
	balanced(tb, e)
}

// stopAwaitedByTask is a deadlock that Stop cannot detect: the worker waits for a
// goroutine that waits for the worker.
func stopAwaitedByTask(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	_, want := scheduleAll(tb, e, 10, time.Hour, newProbe)
	var got []hwt.Timeout
	var began, done mark
	schedule(tb, e, task(func(hwt.Timeout) {
		began.set()
		result := make(chan []hwt.Timeout)
		go func() { result <- e.Stop() }()
		got = <-result
		done.set()
	}), tick)
	pass(time.Minute)
	require.Equal(tb, 1, done.count(), "Stop did not return")
	between(tb, done.at(), began.at(), began.at().Add(stopWithin), "Stop")
	sameTimeouts(tb, want, got)
	assert.Empty(tb, e.Stop())
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
	e := newTimer.start(tb, Options{})
	var began, ended mark
	schedule(tb, e, task(func(hwt.Timeout) {
		began.set()
		time.Sleep(time.Second)
		ended.set()
	}), 0)
	pass(5 * tick)
	require.Equal(tb, 1, began.count())
	stopTogether(e, func() { assert.Equal(tb, 1, ended.count(), "Stop did not wait for the task") })
	assert.Equal(tb, began.at().Add(time.Second), time.Now(), "Stop waited for longer")
	pass(time.Minute)
}

// stopTogether stops e from two goroutines, and calls then after each Stop.
func stopTogether(e hwt.Engine, then func()) {
	together(2, func(int) {
		e.Stop()
		then()
	})
}

func stopWaitsForCancelled(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var ended mark
	p := &sleepsOnCancel{then: ended.set}
	require.True(tb, schedule(tb, e, p, time.Hour).Cancel())
	pass(5 * tick)
	stopTogether(e, func() { assert.Equal(tb, 1, ended.count(), "Stop did not wait for Cancelled") })
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

func nothingAfterStop(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var stopped atomic.Bool
	var late mark
	for i := range 500 {
		schedule(tb, e, task(func(hwt.Timeout) {
			if stopped.Load() {
				late.set()
			}
		}), time.Duration(i)*tick/5)
	}
	pass(50*tick + tick/2) // Between ticks, no task is being started.
	require.NotEmpty(tb, e.Stop())
	stopped.Store(true)
	pass(time.Hour)
	assert.Zero(tb, late.count(), "tasks ran after Stop")
}

// stopAfterResets stops timeouts in buckets that do not match their deadlines.
func stopAfterResets(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	tasks, want := scheduleAll(tb, e, 30, time.Second, newProbe)
	pass(2 * tick)
	for i, timeout := range want {
		delay := []time.Duration{time.Hour, 10 * tick, 100 * time.Hour}[i%3]
		require.True(tb, timeout.Reset(delay))
		require.True(tb, timeout.Reset(delay+time.Duration(i)))
	}
	pass(2 * tick)
	sameTimeouts(tb, want, e.Stop())
	pass(1000 * time.Hour)
	allRan(tb, 0, tasks)
}
