package hwttest

import (
	"errors"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var executorChecks = []check{
	{"ExecutorRunsEveryTask", fake, executorRuns},
	{"ExecutorMayRunLater", fake, executorLater},
	{"ExecutorRejectionIsReported", fake, executorRefuses},
	{"ExecutorRejectionGoesToARejectedTask", fake, executorRejectsRejectedTask},
	{"ExecutorPanicAffectsNoOther", fake, executorBreaks},
	{"ExecutorThatBlocksDelaysTimeouts", fake, executorBlocks},
	{"ExecutorThatCallsTwiceRunsATaskOnce", fake, executorTwice},
	{"BadTaskOnAnExecutorIsReported", fake, badTaskOnExecutor},
	{"OnExecutorRunsTheTaskThere", fake, onExecutor},
	{"OnExecutorRejectionGoesToTheTask", fake, onExecutorRefused},
	{"ShutdownWaitsForATaskOfOnExecutor", fake, onExecutorShutdown},
}

// executor is a function that is an hwt.Executor.
type executor func(task func()) error

func (f executor) Execute(task func()) error { return f(task) }

func inline(task func()) error {
	task()
	return nil
}

func elsewhere(task func()) error {
	go task()
	return nil
}

func executorRuns(tb testing.TB, newTimer factory) {
	for name, run := range map[string]executor{"inline": inline, "elsewhere": elsewhere} {
		var submitted atomic.Int64
		e := newTimer.start(tb, Options{Executor: executor(func(task func()) error {
			submitted.Add(1)
			return run(task)
		})})
		c := newCourse(e, tick)
		for i := range 100 {
			c.add(tb, time.Duration(i)*tick/3+1)
		}
		cancelled := schedule(tb, e, nothing, tick)
		cancelled.Cancel()
		pass(40 * tick)
		for _, r := range c.runners {
			ranOnTime(tb, r.probe, c.created.Add(r.deadline), "%s", name)
		}
		assert.Equal(tb, 100, submitted.Load(), name)
		assert.Equal(tb, 100, balanced(tb, e).Expired, name)
	}
}

func executorLater(tb testing.TB, newTimer factory) {
	q := make(queue, 100)
	e := newTimer.start(tb, Options{Executor: q})
	p := new(probe)
	timeout := schedule(tb, e, p, tick)
	pass(time.Minute)
	require.Len(tb, q, 1)
	assert.Zero(tb, p.ran.count())
	assert.Equal(tb, 1, e.Stats().ExecutorWaiting)
	assert.True(tb, timeout.IsExpired(), "expired at its deadline")
	assert.False(tb, timeout.Cancel(), "too late: the executor has it")
	assert.False(tb, timeout.Reset(time.Hour), "too late: the executor has it")
	assert.Zero(tb, e.Pending())
	assert.Empty(tb, e.Stop())
	(<-q)()
	assert.Zero(tb, e.Stats().ExecutorWaiting)
	assert.Equal(tb, 1, p.ran.count(), "Stop leaves earlier expired timeouts alone")
}

func executorRefuses(tb testing.TB, newTimer factory) {
	var reported reports
	errFull := errors.New("pool is full")
	full := true
	e := newTimer.start(tb, Options{ErrorHandler: reported.handle, Executor: executor(func(task func()) error {
		if full {
			return errFull
		}
		return inline(task)
	})})
	lost := new(probe)
	timeout := schedule(tb, e, lost, tick)
	pass(3 * tick)
	all := reported.take()
	require.Len(tb, all, 1)
	same(tb, timeout, all[0].timeout, "the timeout reported")
	assert.ErrorIs(tb, all[0].err, errFull)
	assert.True(tb, timeout.IsExpired())
	assert.Equal(tb, 1, balanced(tb, e).ExecutorRejected)
	assert.Zero(tb, e.Stats().ExecutorWaiting)

	full = false
	worksOnTime(tb, e, tick, "once the executor takes tasks again")
	assert.Zero(tb, lost.ran.count(), "a refused task is not tried again")
	assert.Zero(tb, e.Pending())
}

// rejectedTask is a task that handles the executor's rejection.
type rejectedTask struct {
	probe
	refused []error
	answer  error // result of Rejected
}

func (r *rejectedTask) Rejected(_ hwt.Timeout, err error) error {
	r.refused = append(r.refused, err)
	return r.answer
}

func executorRejectsRejectedTask(tb testing.TB, newTimer factory) {
	errFull, errMore := errors.New("pool is full"), errors.New("the task knows more")
	for name, answer := range map[string]error{"handled": nil, "passed on": errMore} {
		var reported reports
		e := newTimer.start(tb, Options{ErrorHandler: reported.handle, Executor: executor(func(func()) error { return errFull })})
		task := &rejectedTask{answer: answer}
		timeout := schedule(tb, e, task, tick)
		pass(3 * tick)
		if assert.Len(tb, task.refused, 1, name) {
			assert.ErrorIs(tb, task.refused[0], errFull, name)
		}
		assert.Zero(tb, task.ran.count(), name)
		all := reported.take()
		if answer == nil {
			assert.Empty(tb, all, name)
		} else if assert.Len(tb, all, 1, name) {
			same(tb, timeout, all[0].timeout, "the timeout reported")
			assert.Equal(tb, answer, all[0].err, name)
		}
		assert.Equal(tb, 1, balanced(tb, e).ExecutorRejected, name)
	}
}

func executorBreaks(tb testing.TB, newTimer factory) {
	for name, breaks := range map[string]func(){
		"panics":             func() { panic("executor") },
		"ends the goroutine": runtime.Goexit,
	} {
		var reported reports
		broken := true
		e := newTimer.start(tb, Options{ErrorHandler: reported.handle, Executor: executor(func(task func()) error {
			if broken {
				breaks()
			}
			return inline(task)
		})})
		scheduleAll(tb, e, 5, tick, newProbe)
		pass(3 * tick)
		assert.Len(tb, reported.take(), 5, name)
		assert.Equal(tb, 5, balanced(tb, e).ExecutorRejected, name)
		broken = false
		worksOnTime(tb, e, tick, "after an executor that %s", name)
		assert.Zero(tb, balanced(tb, e).Pending)
		assert.Zero(tb, e.Stats().ExecutorWaiting, name)
	}
}

// executorBlocks uses a full pool that makes the timer wait.
func executorBlocks(tb testing.TB, newTimer factory) {
	release := make(chan struct{})
	var submitted atomic.Int64
	e := newTimer.start(tb, Options{Logger: slog.New(slog.DiscardHandler), Executor: executor(func(task func()) error {
		submitted.Add(1)
		<-release
		return elsewhere(task)
	})})
	held, _ := scheduleAll(tb, e, 50, tick, newProbe)
	pass(time.Minute)
	assert.Greater(tb, submitted.Load(), 0)
	cancelled := schedule(tb, e, nothing, time.Second)
	assert.True(tb, cancelled.Cancel(), "Cancel waits for no executor")
	later, now := new(probe), time.Now()
	schedule(tb, e, later, 10*tick)
	close(release)
	pass(20 * tick)
	allRan(tb, 1, held)
	ranOnTime(tb, later, now.Add(10*tick), "once the executor takes tasks again")
	assert.Equal(tb, 51, submitted.Load())
	assert.Equal(tb, 51, balanced(tb, e).Expired)
}

// executorTwice breaks the rules of Executor and calls each task twice.
func executorTwice(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{MaxPendingTimeouts: 1, Executor: executor(func(task func()) error {
		task()
		go task()
		return nil
	})})
	for range 3 { // a second end would free a second place
		p := new(probe)
		timeout := schedule(tb, e, p, tick)
		_, err := e.NewTimeout(nothing, tick)
		assert.ErrorIs(tb, err, hwt.ErrTooManyPending)
		pass(3 * tick)
		assert.Equal(tb, 1, p.ran.count())
		assert.True(tb, timeout.IsExpired())
		assert.False(tb, timeout.Cancel())
	}
	assert.Equal(tb, 3, balanced(tb, e).Expired)
	assert.Zero(tb, e.Stats().ExecutorWaiting)
	assert.Empty(tb, e.Stop())
}

func badTaskOnExecutor(tb testing.TB, newTimer factory) {
	for name, run := range map[string]executor{"inline": inline, "elsewhere": elsewhere} {
		var reported reports
		e := newTimer.start(tb, Options{ErrorHandler: reported.handle, Executor: run, Logger: slog.New(slog.DiscardHandler)})
		for _, bad := range badOnes() {
			timeout := schedule(tb, e, hwt.TaskFunc(bad.run), tick)
			worksOnTime(tb, e, tick, "%s: next to a task that %s", name, bad.name)
			all := reported.take()
			if assert.Len(tb, all, 1, "%s: %s", name, bad.name) {
				same(tb, timeout, all[0].timeout, "the timeout reported")
				bad.assertReported(tb, all[0].err)
			}
		}
		assert.Zero(tb, balanced(tb, e).Pending)
	}
}
