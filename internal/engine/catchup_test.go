package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newSleepingTimer returns a timer whose worker has slept for 1,000.5 ticks.
func newSleepingTimer(t *testing.T) *timer {
	t.Helper()
	e := newTimer(t)
	e.Start()
	e.after(t, tick, nothing)
	pass(1000*tick + tick/2)
	require.Equal(t, asleep, e.core.intake.phase.Load())
	require.Less(t, e.wheel.tick, int64(10))
	return e
}

func TestCallerAdvancesTheWheelOfASleepingWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newSleepingTimer(t)
		var at int64
		e.wheel.onAdd = func() { at = e.wheel.tick }
		e.after(t, time.Hour, nothing)
		assert.EqualValues(t, 999, at)
		before := e.Stats()
		e.after(t, 0, nothing)
		pass(tick / 2)
		assert.EqualValues(t, 2, e.Stats().Expired, "the current tick is not over")
		assert.Equal(t, before.Ticks+1, e.Stats().Ticks)
	})
}

func TestCallerAdvancesTheWheelOfANewWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		time.Sleep(1000 * tick)
		e.after(t, time.Hour, nothing)
		e.core.drainAll()
		assert.EqualValues(t, 999, e.wheel.tick)
		assert.Equal(t, goOn, e.step())
		assert.Zero(t, e.Stats().MaxLag)
	})
}

func TestWalkAdvancesTheWheelOfASleepingWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newSleepingTimer(t)
		e.after(t, 1000*tick, nothing)
		pass(500 * tick)
		e.after(t, 1000*tick, nothing)
		require.EqualValues(t, 1, e.core.intake.backlog(), "the worker's alarm covers it")
		for range e.All() {
		}
		require.Zero(t, e.core.intake.backlog())
		assert.EqualValues(t, 1499, e.wheel.tick)
	})
}

// The worker's alarm has fired, but the worker is not scheduled yet.
func TestCallerMovesTheWheelPastNoDueTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		e.after(t, 20*tick, nothing)
		time.Sleep(tick)
		require.Equal(t, sleep, e.finish(t))
		e.core.worker.sleeper.Load().stop()
		time.Sleep(49 * tick)
		late := e.after(t, 0, nothing)
		e.core.drainAll()
		assert.EqualValues(t, 19, e.wheel.tick)
		assert.EqualValues(t, 50, e.wheel.added[late].tick)
		require.Equal(t, goOn, e.step())
		assert.EqualValues(t, 20, e.wheel.tick)
		assert.Equal(t, 30*tick, e.Stats().MaxLag)
	})
}

func TestCallerLeavesTheWheelOfABusyWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		time.Sleep(tick)
		require.Equal(t, goOn, e.step())
		time.Sleep(10 * tick)
		e.after(t, time.Hour, nothing)
		e.core.drainAll()
		assert.EqualValues(t, 1, e.wheel.tick)
	})
}
