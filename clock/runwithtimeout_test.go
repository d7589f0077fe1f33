package clock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
)

func TestRunWithTimeout(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		c := newClock(t, timer)
		fail := errors.New("failed")
		var inner context.Context
		assert.Equal(t, fail, c.RunWithTimeout(t.Context(), unit, func(ctx context.Context) error {
			inner = ctx
			assert.NoError(t, ctx.Err())
			return fail
		}))
		assert.Equal(t, context.Canceled, inner.Err())

		before, start := goroutines(), time.Now() // The first call has started the worker.
		assert.NoError(t, c.RunWithTimeout(t.Context(), unit, func(ctx context.Context) error {
			<-ctx.Done()
			assert.Equal(t, 1, units(start))
			assert.Equal(t, context.DeadlineExceeded, ctx.Err())
			time.Sleep(unit)
			return nil
		}))
		assert.Equal(t, 2, units(start), "it waits for the function")

		assert.PanicsWithValue(t, "no good", func() {
			_ = c.RunWithTimeout(t.Context(), unit, func(ctx context.Context) error {
				inner = ctx
				panic("no good")
			})
		})
		assert.Equal(t, context.Canceled, inner.Err())
		assert.Zero(t, timer.Pending())
		assert.LessOrEqual(t, goroutines(), before)
	})
}

func TestRunWithTimeoutOfNilIsAnError(t *testing.T) {
	c := newClock(t, newTimer(t))
	assert.EqualError(t, c.RunWithTimeout(t.Context(), unit, nil), "clock: RunWithTimeout: f is nil (expected: a function)")
	var none context.Context
	assert.EqualError(t, c.RunWithTimeout(none, unit, func(context.Context) error { return nil }),
		"clock: RunWithTimeout: ctx is nil (expected: a context)")
}
