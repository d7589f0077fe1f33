package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
)

func TestAfterFuncRunsOnceAfterItsDelay(t *testing.T) {
	for _, d := range []time.Duration{-1, 0, 1, unit, 1000 * unit} {
		agree(t, func(t *testing.T, s shapes) {
			start := time.Now()
			var runs list[time.Duration]
			timer := s.afterFunc(d, func() { runs.add(time.Since(start)) })
			pass(max(d, 0) + slop)
			ran := runs.take()
			if assert.Len(t, ran, 1) {
				assert.GreaterOrEqual(t, ran[0], max(d, 0))
			}
			assert.False(t, timer.Stop())
			pass(1000 * unit)
			assert.Empty(t, runs.take())
		})
	}
}

// TestTimerWithoutTimeLeftFiresImmediately often resets timers to a delay of zero within a
// tick, as programs with rate limits do.
func TestTimerWithoutTimeLeftFiresImmediately(t *testing.T) {
	for _, d := range []time.Duration{0, -1, -unit} {
		agree(t, func(t *testing.T, s shapes) {
			start := time.Now()
			timer, c := s.newTimer(d)
			for range 10 {
				assert.True(t, (<-c).Equal(start))
				assert.False(t, timer.Reset(d), "it fired")
			}
			assert.True(t, timer.Reset(d), "nothing was received")
			assert.True(t, timer.Stop())
			assert.False(t, timer.Stop())
			<-s.after(d)
			runs := make(chan int, 1)
			again := s.afterFunc(unit, func() { runs <- 0 })
			assert.True(t, again.Reset(d), "it was pending")
			<-runs
			for range 10 {
				assert.False(t, again.Reset(d))
				<-runs
			}
			assert.Zero(t, s.pending())
			assert.Zero(t, time.Since(start))
		})
	}
}

func TestStoppedAfterFuncNeverRuns(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		timer := s.afterFunc(unit, func() { assert.Fail(t, "ran") })
		pass(unit - slop)
		assert.True(t, timer.Stop())
		assert.False(t, timer.Stop())
		pass(2 * unit)
	})
}

func TestAfterFuncRunsAgainAfterEachReset(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		start := time.Now()
		var runs list[int]
		timer := s.afterFunc(unit, func() { runs.add(int(time.Since(start) / unit)) })
		assert.True(t, timer.Reset(3*unit), "to later")
		assert.True(t, timer.Reset(2*unit), "to sooner")
		pass(2*unit + slop)
		assert.Equal(t, []int{2}, runs.take())
		assert.False(t, timer.Reset(2*unit), "it had run")
		pass(2 * unit)
		assert.Equal(t, []int{4}, runs.take())
		assert.False(t, timer.Reset(unit))
		assert.True(t, timer.Stop())
		assert.False(t, timer.Reset(unit), "it was stopped")
		pass(unit)
		assert.Equal(t, []int{5}, runs.take())
	})
}

func TestBlockedAfterFuncDelaysNoOther(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		release := make(chan struct{})
		s.afterFunc(unit, func() { <-release })
		pass(unit)
		ran := false
		s.afterFunc(unit, func() { ran = true })
		pass(unit + slop)
		assert.True(t, ran)
		close(release)
		synctest.Wait()
	})
}

func TestTimerSendsItsDueTime(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		due := time.Now().Add(unit)
		_, c := s.newTimer(unit)
		_, early := received(c)
		assert.False(t, early)
		pass(unit + slop)
		at, ok := received(c)
		assert.True(t, ok)
		assert.True(t, at.Equal(due), "%v", at.Sub(due))
		_, again := received(c)
		assert.False(t, again)
	})
}

func TestWaitingReceiverGetsTheValue(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		due := time.Now().Add(unit)
		_, c := s.newTimer(unit)
		at := <-c
		assert.True(t, at.Equal(due))
		assert.False(t, time.Now().Before(due))
		at = <-s.after(unit)
		assert.Less(t, at.Sub(due), unit+slop)
		s.sleep(unit)
		assert.GreaterOrEqual(t, time.Since(due), 2*unit)
		assert.Less(t, time.Since(due), 2*unit+slop)
	})
}

func TestSleepOfZeroReturnsImmediately(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		start := time.Now()
		s.sleep(0)
		s.sleep(-unit)
		assert.Zero(t, time.Since(start))
	})
}

func TestStoppedTimerSendsNothing(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		timer, c := s.newTimer(unit)
		pass(unit + slop)
		assert.True(t, timer.Stop(), "it fired, but its value was not received")
		assert.False(t, timer.Stop())
		_, stale := received(c)
		assert.False(t, stale)
		pass(2 * unit)
		_, stale = received(c)
		assert.False(t, stale)
	})
}

func TestResetDiscardsTheOldValue(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		timer, c := s.newTimer(unit)
		pass(unit + slop)
		due := time.Now().Add(2 * unit)
		assert.True(t, timer.Reset(2*unit), "it fired, but its value was not received")
		_, stale := received(c)
		assert.False(t, stale)
		pass(2*unit + slop)
		at, ok := received(c)
		assert.True(t, ok)
		assert.True(t, at.Equal(due))
		assert.False(t, timer.Stop(), "the value was received")
		assert.False(t, timer.Reset(unit))
		assert.True(t, timer.Stop())
	})
}

func TestUninitializedTimerPanics(t *testing.T) {
	assert.PanicsWithValue(t, "clock: Stop called on uninitialized Timer", func() { new(clock.Timer).Stop() })
	assert.PanicsWithValue(t, "clock: Reset called on uninitialized Timer", func() { new(clock.Timer).Reset(unit) })
	assert.PanicsWithValue(t, "clock: Reset called on uninitialized Ticker", func() { new(clock.Ticker).Reset(unit) })
	assert.NotPanics(t, func() { new(clock.Ticker).Stop() })
}

func TestLongestDelayNeverExpires(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		timer, c := s.newTimer(1<<63 - 1)
		ticker, ticks := s.newTicker(1<<63 - 1)
		pass(1000 * time.Hour)
		_, ok := received(c)
		assert.False(t, ok)
		_, ok = received(ticks)
		assert.False(t, ok)
		assert.True(t, timer.Stop())
		ticker.Stop()
	})
}

// TestTaskAfterStopOrResetFiresNoTimer stops and resets timers whose timeouts have expired
// and whose tasks have not started.
func TestTaskAfterStopOrResetFiresNoTimer(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		held := &holding{Timer: timer}
		c := newClock(t, held)
		stopped, reset := c.NewTimer(unit), c.NewTimer(unit)
		ran := c.AfterFunc(unit, func() { assert.Fail(t, "was stopped") })
		held.hold()
		pass(unit + slop)
		assert.True(t, stopped.Stop())
		assert.True(t, ran.Stop())
		assert.True(t, reset.Reset(unit))
		due := time.Now().Add(unit)
		held.release()
		pass(slop)
		_, stale := received(stopped.C)
		assert.False(t, stale)
		_, stale = received(reset.C)
		assert.False(t, stale)
		assert.True(t, (<-reset.C).Equal(due))
	})
}
