package hwttest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var shutdownChecks = []check{
	{"ShutdownReturnsThePendingTimeouts", fake, returnsPending(shutDown)},
	{"ShutdownWaitsForTaskAndCallback", fake, shutdownWaits},
	{"ShutdownWaitsForTheExecutor", fake, shutdownWaitsForExecutor},
	{"ShutdownGivesUpWithItsContext", fake, shutdownGivesUp},
	{"ShutdownCountsQueuedTasks", fake, shutdownCountsExecutor},
	{"ShutdownWaitsAfterAStopThatGaveUp", fake, shutdownAfterStop},
	{"ShutdownFromInsideATask", fake, stopInsideTask(shutDown, nil, executor(inline))},
	{"ShutdownFromInsideATaskOnAnExecutor", fake, shutdownInsideExecutor},
	{"ShutdownFromInsideARejection", fake, shutdownInsideRejection},
	{"ShutdownDoesNotWaitForRejectedTasks", fake, shutdownAfterRefusals},
	{"ShutdownFromManyGoroutines", realClock, stopTogether(byStop, shutDown, shutDown, shutDown)},
	{"NoTaskRunsAfterShutdown", realClock, nothingRunsAfterShutdown},
	{"ContextEndsWhenShutdownGivesUp", fake, contextEndsWithShutdown},
	{"ContextEndsWhenStopGivesUp", fake, contextEndsWithStop},
}

// within is a context that ends after d.
func within(tb testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	tb.Cleanup(cancel)
	return ctx
}

// gaveUp asserts that err is the error of a Shutdown after the end of its context.
func gaveUp(tb testing.TB, err error) hwt.ShutdownError {
	var left *hwt.ShutdownError
	require.True(tb, errors.As(err, &left), "%v", err)
	assert.ErrorIs(tb, err, context.DeadlineExceeded)
	assert.Contains(tb, err.Error(), "running")
	return *left
}

// outlast keeps a check alive until all tasks are done, whatever the engine does.
func outlast(tb testing.TB) { tb.Cleanup(func() { time.Sleep(2 * time.Hour) }) }

// sleeps returns a task that takes d.
func sleeps(d time.Duration) hwt.TimerTask { return task(func(hwt.Timeout) { time.Sleep(d) }) }

func shutdownWaits(tb testing.TB, newTimer factory) {
	outlast(tb)
	e := newTimer.start(tb, Options{})
	var notified mark
	require.True(tb, schedule(tb, e, &sleepsOnCancel{then: notified.set}, time.Hour).Cancel())
	pass(3 * tick)
	schedule(tb, e, sleeps(time.Hour), 0)
	pass(2 * time.Second)
	begin := time.Now()
	require.True(tb, schedule(tb, e, &sleepsOnCancel{then: notified.set}, time.Hour).Cancel())
	assert.Empty(tb, shutDown(tb, e))
	assert.Equal(tb, 2, notified.count(), "Shutdown did not wait for the notice")
	assert.LessOrEqual(tb, time.Hour-3*time.Second, time.Since(begin))
	assert.LessOrEqual(tb, time.Since(begin), time.Hour+2*time.Second, "Shutdown waited for longer")
}

// line is an executor with a goroutine that runs tasks one after another.
type line chan func()

func newLine(tb testing.TB) line {
	l := make(line, 100)
	tb.Cleanup(func() {
		time.Sleep(2 * time.Hour) // Until all tasks are done, whatever the engine does.
		close(l)
	})
	go func() {
		for f := range l {
			f()
		}
	}()
	return l
}

func (l line) Execute(f func()) error {
	l <- f
	return nil
}

func shutdownWaitsForExecutor(tb testing.TB, newTimer factory) {
	pool := newLine(tb)
	e := newTimer.start(tb, Options{Executor: pool})
	var notified mark
	for range 3 {
		schedule(tb, e, sleeps(time.Minute), 0)
	}
	pass(2 * tick)
	begin := time.Now()
	require.True(tb, schedule(tb, e, &sleepsOnCancel{then: notified.set}, time.Hour).Cancel())
	_, far := scheduleAll(tb, e, 5, time.Hour, newProbe)
	sameTimeouts(tb, far, shutDown(tb, e))
	assert.Equal(tb, 1, notified.count())
	between(tb, time.Now(), begin.Add(3*time.Minute-2*tick), begin.Add(3*time.Minute+time.Second), "Shutdown")
	assert.Empty(tb, e.Stop())
}

// occupies is a task that takes an hour. Checks look for its name.
func occupies(hwt.Timeout) error {
	time.Sleep(time.Hour)
	return nil
}

func shutdownGivesUp(tb testing.TB, newTimer factory) {
	outlast(tb)
	e := newTimer.start(tb, Options{})
	begin := time.Now()
	schedule(tb, e, hwt.TaskFunc(occupies), 0)
	pass(3 * tick)
	_, far := scheduleAll(tb, e, 10, 2*time.Hour, newProbe)
	unprocessed, err := e.Shutdown(within(tb, time.Minute))
	assert.Equal(tb, begin.Add(time.Minute+3*tick), time.Now())
	sameTimeouts(tb, far, unprocessed)
	left := gaveUp(tb, err)
	assert.Equal(tb, [2]int64{1, 0}, [2]int64{left.Running, left.Waiting})
	if e.Stats().Ticks > 0 { // It has a worker.
		assert.Contains(tb, left.Tasks[0], "hwttest.occupies")
		assert.Contains(tb, err.Error(), "hwttest.occupies")
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = e.Shutdown(over)
	assert.ErrorIs(tb, err, context.Canceled)
	assert.Empty(tb, shutDown(tb, e), "it waits again")
	_, err = e.Shutdown(over)
	assert.NoError(tb, err, "no task is left")
	between(tb, time.Now(), begin.Add(time.Hour), begin.Add(time.Hour+tick), "the task's end")
}

func shutdownCountsExecutor(tb testing.TB, newTimer factory) {
	pool := newLine(tb)
	e := newTimer.start(tb, Options{Executor: pool})
	for range 5 {
		schedule(tb, e, sleeps(time.Minute), 0)
	}
	pass(3 * tick)
	require.True(tb, schedule(tb, e, newProbe(), time.Hour).Cancel())
	pass(3 * tick)
	for _, waiting := range []int64{4, 3, 2} {
		_, err := e.Shutdown(within(tb, time.Minute))
		left := gaveUp(tb, err)
		assert.Equal(tb, [2]int64{1, waiting}, [2]int64{left.Running, left.Waiting})
		assert.Empty(tb, left.Tasks, "no worker is occupied")
	}
	shutDown(tb, e)
	assert.Zero(tb, e.Stats().ExecutorWaiting)
}

func shutdownAfterStop(tb testing.TB, newTimer factory) {
	outlast(tb)
	e := newTimer.start(tb, Options{})
	begin := time.Now()
	schedule(tb, e, sleeps(time.Hour), 0)
	_, far := scheduleAll(tb, e, 10, 2*time.Hour, newProbe)
	pass(3 * tick)
	sameTimeouts(tb, far, e.Stop())
	assert.Greater(tb, 2*stopWithin, time.Since(begin))
	assert.Empty(tb, shutDown(tb, e))
	between(tb, time.Now(), begin.Add(time.Hour), begin.Add(time.Hour+tick), "Shutdown")
}

// stopsWhenRejected is a task that calls stop if the executor rejects it, and then fails.
type stopsWhenRejected struct {
	probe
	stop func()
}

func (s *stopsWhenRejected) Rejected(_ hwt.Timeout, err error) error {
	s.stop()
	return err
}

func shutdownInsideRejection(tb testing.TB, newTimer factory) {
	full := executor(func(func()) error { return errors.New("full") })
	runs := func(func()) hwt.TimerTask { return newProbe() }
	rejected := func(stop func()) hwt.TimerTask { return &stopsWhenRejected{stop: stop} }
	on := func(executor hwt.Executor, task func(func()) hwt.TimerTask) func(func()) hwt.TimerTask {
		return func(stop func()) hwt.TimerTask { return hwt.OnExecutor(executor, task(stop)) }
	}
	for _, c := range []struct {
		name   string
		timer  hwt.Executor // its own
		task   func(stop func()) hwt.TimerTask
		inTask bool // the task calls stop, and not the error handler
		cancel bool
	}{
		{"in Rejected", full, rejected, true, false},
		{"in Rejected of OnExecutor", nil, on(full, rejected), true, false},
		{"in the error handler", full, runs, false, false},
		{"in the error handler of OnExecutor", nil, on(full, runs), false, false},
		{"in the error handler of a callback", nil, on(full, runs), false, true},
		{"in Execute, which runs the task", nil, on(executor(inline), func(stop func()) hwt.TimerTask {
			return task(func(hwt.Timeout) { stop() })
		}), true, false},
	} {
		var e hwt.Engine
		var took []time.Duration
		stop := func() {
			begin := time.Now()
			_, err := e.Shutdown(within(tb, time.Hour))
			assert.NoError(tb, err, c.name)
			took = append(took, time.Since(begin))
		}
		e = newTimer.start(tb, Options{Executor: c.timer, ErrorHandler: func(hwt.Timeout, error) {
			if !c.inTask {
				stop()
			}
		}})
		timeout := schedule(tb, e, c.task(stop), tick)
		if c.cancel {
			timeout.Cancel()
		}
		pass(2 * time.Hour)
		assert.Equal(tb, []time.Duration{0}, took, "it waits for itself, %s", c.name)
		shutDown(tb, e)
	}
}

func shutdownInsideExecutor(tb testing.TB, newTimer factory) {
	pool := newLine(tb)
	e := newTimer.start(tb, Options{Executor: pool})
	var err error
	var took time.Duration
	schedule(tb, e, task(func(hwt.Timeout) {
		begin := time.Now()
		_, err = e.Shutdown(within(tb, time.Minute))
		took = time.Since(begin)
	}), 0)
	pass(time.Hour)
	assert.Equal(tb, time.Minute, took)
	left := gaveUp(tb, err)
	assert.Equal(tb, [2]int64{1, 0}, [2]int64{left.Running, left.Waiting})
	shutDown(tb, e)
}

func shutdownAfterRefusals(tb testing.TB, newTimer factory) {
	pool := newLine(tb)
	var n atomic.Int64
	e := newTimer.start(tb, Options{ErrorHandler: new(reports).handle, Executor: executor(func(f func()) error {
		switch n.Add(1) {
		case 1:
			return errors.New("full")
		case 2:
			panic("broken")
		case 3:
			f() // A second call.
			f()
			return nil
		case 4:
			f()
			return errors.New("full, and yet it ran")
		}
		return pool.Execute(f)
	})})
	begin := time.Now()
	for i := range 4 {
		schedule(tb, e, nothing, time.Duration(i)*tick)
	}
	schedule(tb, e, sleeps(time.Minute), 5*tick)
	pass(7 * tick)
	require.Equal(tb, 5, n.Load())
	shutDown(tb, e)
	between(tb, time.Now(), begin.Add(time.Minute+5*tick), begin.Add(time.Minute+7*tick), "Shutdown")
}

// nothingRunsAfterShutdown uses the real clock because tasks must run on one processor
// when Shutdown returns on another.
func nothingRunsAfterShutdown(tb testing.TB, newTimer factory) {
	for i := range 20 {
		var pool hwt.Executor
		if i%2 == 0 {
			pool = executor(func(f func()) error { go f(); return nil })
		}
		e := newTimer.start(tb, Options{TickDuration: time.Millisecond, Executor: pool})
		var over atomic.Bool
		var late, running atomic.Int64
		check := func() {
			running.Add(1)
			defer running.Add(-1)
			if time.Sleep(50 * time.Microsecond); over.Load() {
				late.Add(1)
			}
		}
		for n := range 300 {
			schedule(tb, e, task(func(hwt.Timeout) { check() }), time.Duration(n)*10*time.Microsecond)
			schedule(tb, e, &sleepsOnCancel{then: check}, time.Hour).Reset(0)
		}
		time.Sleep(2 * time.Millisecond)
		shutDown(tb, e)
		assert.Zero(tb, running.Load(), "tasks run")
		over.Store(true)
		time.Sleep(time.Millisecond)
		assert.Zero(tb, late.Load(), "tasks ran on")
	}
}
