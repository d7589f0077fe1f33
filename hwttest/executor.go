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
	{"ExecutorThatBlocksDelaysTimeouts", fake, executorBlocks},
	{"ExecutorThatCallsTwiceRunsATaskOnce", fake, executorTwice},
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

// executorRefuses uses executors that fail in every way, and then work.
func executorRefuses(tb testing.TB, newTimer factory) {
	errFull := errors.New("pool is full")
	for name, fail := range map[string]func() error{
		"an error": func() error { return errFull },
		"a panic":  func() error { panic(errFull) },
		"a Goexit": func() error { runtime.Goexit(); return nil },
	} {
		var reported reports
		broken := true
		e := newTimer.start(tb, Options{ErrorHandler: reported.handle, Executor: executor(func(task func()) error {
			if broken {
				return fail()
			}
			return inline(task)
		})})
		lost, timeouts := scheduleAll(tb, e, 5, tick, newProbe)
		pass(3 * tick)
		var subjects []hwt.Timeout
		for _, r := range reported.take() {
			subjects = append(subjects, r.timeout)
			assert.True(tb, errors.Is(r.err, errFull) || name == "a Goexit", "%s: %v", name, r.err)
		}
		sameTimeouts(tb, timeouts, subjects)
		assert.True(tb, timeouts[0].IsExpired())
		assert.Equal(tb, 5, balanced(tb, e).ExecutorRejected, name)
		assert.Zero(tb, e.Stats().ExecutorWaiting, name)

		broken = false
		worksOnTime(tb, e, tick, "after an executor with %s", name)
		allRan(tb, 0, lost) // A rejected task is not tried again.
		assert.Zero(tb, e.Pending())
	}
}

// executorRejectsRejectedTask asserts that the task decides whether its rejection is an error.
func executorRejectsRejectedTask(tb testing.TB, newTimer factory) {
	errFull, errMore := errors.New("pool is full"), errors.New("the task knows more")
	for _, answer := range []error{nil, errMore} {
		var reported reports
		e := newTimer.start(tb, Options{ErrorHandler: reported.handle, Executor: executor(func(func()) error { return errFull })})
		task := &rejectedTask{answer: answer}
		timeout := schedule(tb, e, task, tick)
		pass(3 * tick)
		require.Len(tb, task.refused, 1)
		assert.ErrorIs(tb, task.refused[0], errFull)
		assert.Zero(tb, task.ran.count())
		var want []report
		if answer != nil {
			want = []report{{timeout, answer}}
		}
		assert.Equal(tb, want, reported.take())
		assert.Equal(tb, 1, balanced(tb, e).ExecutorRejected)
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
	blocked(tb, e, func() { close(release) })
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
