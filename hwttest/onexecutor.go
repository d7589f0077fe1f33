package hwttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

// executors are the executors of timers with tasks of hwt.OnExecutor. The timers must not use
// them for these tasks.
var executors = map[string]hwt.Executor{
	"without": nil,
	"with":    executor(func(func()) error { return errors.New("not this executor") }),
}

// queue is an executor that runs nothing by itself.
type queue chan func()

func (q queue) Execute(task func()) error {
	q <- task
	return nil
}

// run runs the only task of q. According to e's Stats, the task waited in q.
func (q queue) run(tb testing.TB, e hwt.Engine, name string) {
	pass(3 * tick)
	require.Len(tb, q, 1, name)
	assert.Equal(tb, 1, e.Stats().ExecutorWaiting, name)
	(<-q)()
	assert.Zero(tb, e.Stats().ExecutorWaiting, name)
}

func onExecutor(tb testing.TB, newTimer factory) {
	for name, own := range executors {
		var reported reports
		e := newTimer.start(tb, Options{Executor: own, ErrorHandler: reported.handle})
		q := make(queue, 10)
		p := new(probe)
		timeout := schedule(tb, e, hwt.OnExecutor(q, p), tick)
		pass(3 * tick)
		assert.True(tb, timeout.IsExpired(), name)
		assert.Zero(tb, p.ran.count(), name)
		q.run(tb, e, name)
		assert.Equal(tb, 1, p.ran.count(), name)

		require.True(tb, schedule(tb, e, hwt.OnExecutor(q, p), time.Hour).Cancel())
		pass(3 * tick)
		assert.Zero(tb, p.notified.count(), name)
		q.run(tb, e, name)
		assert.Equal(tb, 1, p.notified.count(), name)

		var seen context.Context
		failing := schedule(tb, e, hwt.OnExecutor(q, hwt.ContextTaskFunc(func(ctx context.Context, _ hwt.Timeout) error {
			seen = ctx
			return errTask
		})), tick)
		q.run(tb, e, name)
		assert.Equal(tb, e.TaskContext(), seen, name)
		all := reported.take()
		require.Len(tb, all, 1, name)
		same(tb, failing, all[0].timeout, "the timeout reported")
		assert.ErrorIs(tb, all[0].err, errTask)

		_, err := e.NewTimeout(hwt.OnExecutor(q, hwt.TaskFunc(nil)), tick)
		assert.ErrorIs(tb, err, hwt.ErrNilTask)
	}
}

func onExecutorRefused(tb testing.TB, newTimer factory) {
	errFull := errors.New("pool is full")
	full := executor(func(func()) error { return errFull })
	for name, own := range executors {
		e := newTimer.start(tb, Options{Executor: own})
		r := new(rejectedTask)
		schedule(tb, e, hwt.OnExecutor(full, r), tick)
		pass(3 * tick)
		require.Len(tb, r.refused, 1, name)
		assert.ErrorIs(tb, r.refused[0], errFull)
		assert.Equal(tb, 1, e.Stats().ExecutorRejected, name)
		assert.Zero(tb, e.Stats().ExecutorWaiting, name)
		assert.Empty(tb, shutDown(tb, e), name)
	}
}

func onExecutorShutdown(tb testing.TB, newTimer factory) {
	for name, own := range executors {
		e := newTimer.start(tb, Options{Executor: own})
		q := make(queue, 10)
		p := new(probe)
		schedule(tb, e, hwt.OnExecutor(q, p), tick)
		pass(3 * tick)
		_, err := e.Shutdown(within(tb, time.Minute))
		left := gaveUp(tb, err)
		assert.Equal(tb, [2]int64{0, 1}, [2]int64{left.Running, left.Waiting}, name)
		(<-q)()
		assert.Empty(tb, shutDown(tb, e), name)
		assert.Equal(tb, 1, p.ran.count(), name)
	}
}
