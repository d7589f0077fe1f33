package hwttest

import (
	"context"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

// untilEnded is a task that runs until the context ends, but at most for an hour. The task
// stores the context's cause and the time.
func untilEnded(cause *error, at *mark) hwt.ContextTaskFunc {
	return func(ctx context.Context, _ hwt.Timeout) error {
		select {
		case <-ctx.Done():
			*cause = context.Cause(ctx)
			at.set()
		case <-time.After(time.Hour):
		}
		return nil
	}
}

func contextEndsWithShutdown(tb testing.TB, newTimer factory) {
	outlast(tb)
	for _, onPool := range []bool{false, true} {
		pool := newLine(tb)
		c := Options{}
		if onPool {
			c.Executor = pool
		}
		e := newTimer.start(tb, c)
		var cause error
		var ended mark
		begin := time.Now()
		schedule(tb, e, untilEnded(&cause, &ended), 0)
		pass(tick)
		_, err := e.Shutdown(within(tb, time.Minute))
		gaveUp(tb, err)
		shutDown(tb, e)
		assert.Equal(tb, begin.Add(time.Minute+tick), ended.at(), "when Shutdown gave up, and no earlier")
		assert.Equal(tb, hwt.ErrStopped, cause)
	}
	e := newTimer.start(tb, Options{})
	var inside context.Context
	schedule(tb, e, hwt.ContextTaskFunc(func(ctx context.Context, _ hwt.Timeout) error { inside = ctx; return nil }), 0)
	pass(2 * tick)
	shutDown(tb, e)
	require.NotNil(tb, inside)
	assert.NoError(tb, inside.Err(), "a Shutdown that waited to the end")
	_, err := e.NewTimeout(hwt.ContextTaskFunc(nil), 0)
	assert.ErrorIs(tb, err, hwt.ErrNilTask)
}

func contextEndsWithStop(tb testing.TB, newTimer factory) {
	outlast(tb)
	e := newTimer.start(tb, Options{})
	var cause error
	var ended mark
	schedule(tb, e, untilEnded(&cause, &ended), 0)
	pass(2 * tick)
	begin := time.Now()
	e.Stop()
	gone := time.Now()
	pass(time.Second)
	require.Equal(tb, 1, ended.count())
	assert.Equal(tb, hwt.ErrStopped, cause)
	between(tb, ended.at(), begin.Add(time.Second), begin.Add(stopWithin), "the context's end")
	between(tb, gone, ended.at(), ended.at(), "Stop")
}
