package clock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
)

// onStopped runs f on every engine, with a clock whose timer f stops. The timer's
// rejections are not reported.
func onStopped(t *testing.T, f func(t *testing.T, c *clock.Clock, timer hwt.Engine)) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		f(t, newClockWith(t, timer, clock.Options{ErrorHandler: func(error) {}}), timer)
	})
}

func TestEndCancelsContexts(t *testing.T) {
	onStopped(t, func(t *testing.T, c *clock.Clock, timer hwt.Engine) {
		idle, cancelIdle := c.WithTimeout(context.Background(), time.Hour)
		defer cancelIdle()
		waited, cancelWaited := c.WithTimeoutCause(context.Background(), time.Hour, errOurs)
		defer cancelWaited()
		child, cancelChild := context.WithCancel(waited)
		defer cancelChild()
		parent, cancelParent := context.WithCancelCause(context.Background())
		orphan, cancelOrphan := c.WithTimeout(parent, time.Hour)
		defer cancelOrphan()

		unprocessed := timer.Stop()
		require.Len(t, unprocessed, 3)
		cancelParent(errOurs)
		assert.NoError(t, waited.Err())
		assert.Empty(t, c.End(unprocessed))
		for _, ctx := range []context.Context{idle, waited, child} {
			assert.True(t, isDone(ctx.Done()))
			assert.Equal(t, context.Canceled, ctx.Err())
			assert.Equal(t, hwt.ErrStopped, context.Cause(ctx))
		}
		assert.Equal(t, errOurs, context.Cause(orphan), "its parent was first")
	})
}

func TestEndStopsTimersTickersAndJobs(t *testing.T) {
	onStopped(t, func(t *testing.T, c *clock.Clock, timer hwt.Engine) {
		held := c.NewTimer(time.Hour)
		c.AfterFunc(time.Hour, func() { assert.Fail(t, "AfterFunc ran") })
		tickers := []*clock.Ticker{c.NewTicker(unit), c.NewTicker(unit), c.NewTicker(time.Hour)}
		pass(unit + slop) // one group has ticked
		late := c.NewTicker(unit)
		job, err := c.ScheduleFunc(clock.FixedRate(time.Hour), func() { assert.Fail(t, "the job ran") }, nil)
		require.NoError(t, err)

		unprocessed := timer.Stop()
		require.Len(t, unprocessed, 5)
		assert.Empty(t, c.End(unprocessed))
		pass(2 * time.Hour)
		assert.False(t, held.Stop(), "it was stopped")
		_, ok := received(held.C)
		assert.False(t, ok)
		for _, ticker := range append(tickers, late) {
			_, ok := received(ticker.C)
			assert.False(t, ok)
		}
		assert.True(t, job.Next().IsZero())
		job.Wait()
	})
}

func TestEndWakesSleepers(t *testing.T) {
	onStopped(t, func(t *testing.T, c *clock.Clock, timer hwt.Engine) {
		start := time.Now()
		after := c.After(time.Hour)
		var woken atomic.Int64
		for range 3 {
			go func() {
				c.Sleep(time.Hour)
				woken.Add(1)
			}()
		}
		synctest.Wait()
		unprocessed := timer.Stop()
		assert.Empty(t, c.End(unprocessed))
		assert.Empty(t, c.End(unprocessed), "a second End has no effect")
		synctest.Wait()
		assert.EqualValues(t, 3, woken.Load())
		assert.Equal(t, time.Hour, (<-after).Sub(start))
		assert.Zero(t, time.Since(start))
		c.Sleep(time.Minute)
		assert.Equal(t, time.Minute, time.Since(start), "the clock still works")
		_, ok := received(after)
		assert.False(t, ok)
	})
}

func TestEndReturnsTimeoutsOfOthers(t *testing.T) {
	onStopped(t, func(t *testing.T, c *clock.Clock, timer hwt.Engine) {
		other := newClockWith(t, timer, clock.Options{ErrorHandler: func(error) {}})
		ctx, cancel := other.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		other.NewTimer(time.Hour)
		other.NewTicker(time.Hour)
		go other.Sleep(time.Hour)
		job, err := other.ScheduleFunc(clock.FixedRate(time.Hour), func() {}, nil)
		require.NoError(t, err)
		mine := c.NewTimer(time.Hour)
		_, err = timer.NewTimeout(foreignTask{}, time.Hour)
		require.NoError(t, err)
		synctest.Wait()

		others := c.End(timer.Stop())
		assert.False(t, mine.Stop())
		assert.Len(t, others, 6)
		assert.NoError(t, ctx.Err())
		others = other.End(others)
		require.Len(t, others, 1)
		assert.Contains(t, []hwt.TimerTask{foreignTask{}, wrappedTask{foreignTask{}}}, others[0].Task())
		assert.Error(t, ctx.Err())
		job.Wait()
	})
}

// TestEndLeavesTimersThatWereReset resets timers and adds tickers after the timer's
// Stop. Then they have runtime timers and no longer depend on the result of Stop.
func TestEndLeavesTimersThatWereReset(t *testing.T) {
	onStopped(t, func(t *testing.T, c *clock.Clock, timer hwt.Engine) {
		held, ticker, moved := c.NewTimer(time.Hour), c.NewTicker(unit), c.NewTicker(time.Hour)
		unprocessed := timer.Stop()
		start := time.Now()
		held.Reset(unit)
		joined := c.NewTicker(unit) // starts the group of the first
		moved.Reset(unit)
		assert.Empty(t, c.End(unprocessed))
		pass(unit)
		for _, channel := range []<-chan time.Time{held.C, ticker.C, joined.C, moved.C} {
			at, ok := received(channel)
			assert.True(t, ok)
			assert.Equal(t, unit, at.Sub(start))
		}
		for _, ticker := range []*clock.Ticker{ticker, joined, moved} {
			ticker.Stop()
		}
	})
}

// TestLateTaskHasNoEffectAfterTheTimersStop releases the tasks of timeouts that were
// replaced by later ones, after the timer's Stop has cancelled those.
func TestLateTaskHasNoEffectAfterTheTimersStop(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		held := &holding{Timer: timer}
		c := newClockWith(t, held, clock.Options{ErrorHandler: func(error) {}})
		moved := c.AfterFunc(unit, func() { assert.Fail(t, "AfterFunc ran") })
		job, err := c.ScheduleFunc(clock.FixedRate(unit), func() { assert.Fail(t, "the job ran") }, nil)
		require.NoError(t, err)
		held.hold()
		pass(unit + slop)
		assert.True(t, moved.Reset(time.Hour))
		assert.True(t, job.Pause())
		assert.True(t, job.Resume())
		unprocessed := timer.Stop()
		held.release()
		assert.Empty(t, c.End(unprocessed))
		pass(2 * unit)
		assert.True(t, job.Next().IsZero())
		assert.False(t, moved.Stop())
	})
}

func TestEndLeavesPendingTimeouts(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		recording := &recording{Timer: timer}
		c := newClock(t, recording)
		ctx, cancel := c.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		assert.Equal(t, recording.made, c.End(recording.made))
		assert.NoError(t, ctx.Err())
		assert.Empty(t, c.End(nil))
	})
}

// recording is a timer that records its timeouts.
type recording struct {
	hwt.Timer
	made []hwt.Timeout
}

func (r *recording) NewTimeout(task hwt.TimerTask, d time.Duration) (hwt.Timeout, error) {
	timeout, err := r.Timer.NewTimeout(task, d)
	r.made = append(r.made, timeout)
	return timeout, err
}

type foreignTask struct{}

func (foreignTask) Run(hwt.Timeout) error { return nil }
