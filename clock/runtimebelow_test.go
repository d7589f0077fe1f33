package clock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// onCoarse runs f in a bubble, on a clock whose wheel would be late by up to a unit.
func onCoarse(t *testing.T, f func(t *testing.T, timer hwt.Engine, c *clock.Clock)) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: unit})
		require.NoError(t, err)
		defer timer.Stop()
		f(t, timer, newClockWith(t, timer, clock.Options{RuntimeBelow: 2 * unit}))
	})
}

func TestShortDelaysAreNotLate(t *testing.T) {
	const d = 2*unit - 1
	for name, wait := range map[string]func(c *clock.Clock){
		"sleep":  func(c *clock.Clock) { c.Sleep(d) },
		"timer":  func(c *clock.Clock) { <-c.After(d) },
		"ticker": func(c *clock.Clock) { <-c.Tick(d) },
		"func": func(c *clock.Clock) {
			called := make(chan struct{})
			c.AfterFunc(d, func() { close(called) })
			<-called
		},
		"reset": func(c *clock.Clock) {
			timer := c.NewTimer(time.Hour)
			assert.True(t, timer.Reset(d))
			<-timer.C
		},
		"context": func(c *clock.Clock) {
			ctx, cancel := c.WithTimeout(context.Background(), d)
			defer cancel()
			<-ctx.Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			onCoarse(t, func(t *testing.T, _ hwt.Engine, c *clock.Clock) {
				start := time.Now()
				wait(c)
				assert.Equal(t, d, time.Since(start))
			})
		})
	}
}

func TestTimerMovesToTheTimerOfItsDelay(t *testing.T) {
	onCoarse(t, func(t *testing.T, timer hwt.Engine, c *clock.Clock) {
		known := c.NewTimer(unit)
		assert.Zero(t, timer.Pending())
		assert.True(t, known.Reset(2*unit))
		assert.Equal(t, int64(1), timer.Pending())
		assert.True(t, known.Reset(unit))
		assert.Zero(t, timer.Pending())
		pass(unit)
		_, fired := received(known.C)
		assert.True(t, fired)
		assert.False(t, known.Stop())
	})
}

// The front of a group of long periods is often due soon. A runtime timer would then
// expire for each ticker, and not one timeout for all that are due in a tick of the timer.
func TestTickersOfALongPeriodStayOnTheTimer(t *testing.T) {
	onCoarse(t, func(t *testing.T, timer hwt.Engine, c *clock.Clock) {
		for range 2 {
			defer c.NewTicker(10 * unit).Stop()
			pass(unit / 2)
		}
		for range 40 {
			pass(unit)
			assert.Equal(t, int64(1), timer.Pending())
		}
	})
}

func TestOptionsOutOfRangeAreRejected(t *testing.T) {
	timer := newTimer(t)
	_, err := clock.New(timer, &clock.Options{RuntimeBelow: -1})
	assert.EqualError(t, err, "clock: Options.RuntimeBelow: -1ns (expected: 0 for none, or more)")
	_, err = clock.New(timer, &clock.Options{PanicsEndProgram: true, FuncsOnTimer: true})
	assert.EqualError(t, err, "clock: Options.PanicsEndProgram: true (expected: false if FuncsOnTimer is true)")
}
