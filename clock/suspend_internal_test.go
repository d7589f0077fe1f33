package clock

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// sleeper is a clock whose boot clock is ahead of the monotonic clock after a suspension.
func sleeper(t *testing.T) (c *Clock, suspend func(time.Duration)) {
	t.Helper()
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	c, err = New(timer, nil)
	require.NoError(t, err)
	var slept atomic.Int64
	began := time.Now()
	c.follow(timer, func() time.Duration { return time.Since(began) + time.Duration(slept.Load()) })
	return c, func(d time.Duration) { slept.Add(int64(d)) }
}

// TestDelaysCountSuspension suspends the machine for an hour in a bubble.
func TestDelaysCountSuspension(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c, suspend := sleeper(t)
		start := time.Now()
		due, later, late := c.NewTimer(30*time.Minute), c.NewTimer(90*time.Minute), c.NewTimer(3*time.Hour)
		ticker := c.NewTicker(40 * time.Minute)
		time.Sleep(10 * time.Minute)
		suspend(time.Hour)
		created := c.NewTimer(20 * time.Minute) // after the waking, and before it is noticed
		late.Reset(2 * time.Hour)
		c.wake()
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Len(t, due.C, 1, "it runs within a second of waking")
		assert.Len(t, ticker.C, 1)
		assert.Empty(t, created.C)
		c.wake() // Nothing more has been slept.
		<-created.C
		assert.Equal(t, 30*time.Minute, time.Since(start).Truncate(time.Second))
		assert.Len(t, later.C, 1, "its hour and a half has passed, too")
		<-late.C
		assert.Equal(t, 130*time.Minute, time.Since(start).Truncate(time.Second))
		ticker.Stop()
	})
}

func TestContextCountsSuspension(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c, suspend := sleeper(t)
		ctx, cancel := c.WithTimeout(context.Background(), 2*time.Hour)
		defer cancel()
		c.wake()
		time.Sleep(time.Second)
		assert.NoError(t, ctx.Err(), "there was no suspension")
		suspend(time.Hour)
		assert.NoError(t, ctx.Err())
		c.wake()
		time.Sleep(time.Second)
		assert.NoError(t, ctx.Err(), "its time on a bubble's wall clock, which does not jump, is not over")
		<-ctx.Done()
	})
}

func TestContextCountsASecondSuspension(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c, suspend := sleeper(t)
		ctx, cancel := c.WithTimeout(context.Background(), 4*time.Hour)
		defer cancel()
		for range 2 {
			time.Sleep(time.Minute)
			suspend(time.Hour)
			c.ahead.Add(int64(time.Hour)) // as the wall clock is after a suspension
			c.wake()
		}
		time.Sleep(2*time.Hour - 3*time.Minute)
		assert.NoError(t, ctx.Err())
		time.Sleep(2 * time.Minute)
		assert.Error(t, ctx.Err())
	})
}

func TestCountSuspensionNeedsItsPlatform(t *testing.T) {
	timer, err := runtimetimer.New(nil)
	require.NoError(t, err)
	defer timer.Stop()
	_, err = New(struct{ hwt.Engine }{timer}, &Options{CountSuspension: true})
	assert.EqualError(t, err, "clock: Options.CountSuspension: true (expected: false on a timer that is not an engine of this module)")
	assert.ErrorIs(t, err, hwt.ErrInvalid)
	c, err := New(timer, &Options{CountSuspension: true})
	if runtime.GOOS != "linux" {
		assert.ErrorContains(t, err, "false on this system")
		return
	}
	require.NoError(t, err)
	assert.InDelta(t, c.elapsed(), c.now(), float64(time.Second))
	began := time.Now()
	<-c.After(10 * time.Millisecond)
	assert.GreaterOrEqual(t, time.Since(began), 10*time.Millisecond)
}
