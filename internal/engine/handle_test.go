package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// backlog returns the number of timeouts in the intake.
func (e *timer) backlog() (n int64) {
	for i := range e.core.intake.stripes {
		n += e.core.intake.stripes[i].backlog()
	}
	return n
}

// The worker sleeps through a long tick, or a task blocks it. In neither case may callers
// that schedule and cancel fill the memory.
func TestCancelledTimeoutsAreBoundedWithALimit(t *testing.T) {
	for name, hold := range map[string]func(*timer){
		"a long tick": func(*timer) {},
		"a task": func(e *timer) {
			e.after(t, 0, func() { time.Sleep(time.Hour) })
			pass(tick)
		},
	} {
		inBubble(t, func(t *testing.T) {
			e := newTimer(t, func(c *Config) { c.MaxPending = 10 })
			hold(e)
			for range 10 * minHeld {
				require.True(t, e.after(t, time.Hour, nothing).Cancel(), name)
			}
			assert.LessOrEqual(t, e.core.env.limit.Held(), int64(minHeld), name)
			assert.LessOrEqual(t, e.backlog(), int64(minHeld), name)
			pass(3 * time.Hour)
			assert.Zero(t, e.core.env.limit.Held(), name)
			assert.Zero(t, e.Stats().Rejected, name)
		})
	}
}

// Notices wait for the task that blocks the worker, and the timeouts wait with them.
func TestTimeoutsAwaitingNoticeAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, func(c *Config) { c.MaxPending = 10 })
		e.after(t, 0, func() { time.Sleep(time.Hour) })
		pass(tick)
		task := new(noticeTask)
		for range minHeld {
			require.True(t, e.add(t, task, time.Hour).Cancel())
		}
		_, err := e.NewTimeout(task, time.Hour)
		require.ErrorIs(t, err, hwt.ErrTooManyPending)
		require.EqualError(t, err, "hwt: number of cancelled timeouts that wait for their notification (4096) is "+
			"greater than or equal to maximum allowed (4096)")
		assert.EqualValues(t, 1, e.Stats().Rejected)
		pass(2 * time.Hour)
		assert.Equal(t, [2]int{0, minHeld}, task.counts())
		e.add(t, task, time.Hour)
	})
}

// No task runs, and the tick is far away.
func TestNoticesOfALimitedTimerDoNotWaitForATick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newWorkers(t, 2, func(c *Config) { c.MaxPending, c.Tick = 10, time.Hour })
		task := new(noticeTask)
		cancel := func(n int) {
			for range n {
				timeout, err := h.NewTimeout(task, 24*time.Hour)
				require.NoError(t, err)
				require.True(t, timeout.Cancel())
			}
		}
		for range 2 { // the workers now plan to wake at the next tick
			cancel(enough)
			synctest.Wait()
		}
		limit := h.workers.env().limit
		cancel(minHeld / 2)
		synctest.Wait()
		assert.Less(t, limit.Held(), int64(minHeld/2), "notices are given at half the bound")
		cancel(enough)
		limit.Release(-minHeld) // as if the workers had not been scheduled
		_, err := h.NewTimeout(task, 24*time.Hour)
		require.ErrorIs(t, err, hwt.ErrTooManyPending)
		limit.Release(minHeld)
		synctest.Wait()
		assert.Zero(t, limit.Held(), "notices are given after a rejection")
		h.Stop()
	})
}
