package hwttest

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var batchChecks = []check{
	{"BatchIsNewTimeoutForEachTask", fake, batchOnTime},
	{"BatchIsRejectedAsAWhole", fake, batchRefused},
	{"BatchMayBeCancelledAndReset", fake, batchEnds},
	{"BatchWakesASleepingTimer", fake, batchWakes},
	{"BatchAgainstStopIsAllOrNone", realClock, batchAgainstStop},
	{"BatchesKeepThePendingLimit", realClock, batchesKeepMaximum},
}

// probes returns n probes, and the same probes as tasks.
func probes(n int) ([]*probe, []hwt.TimerTask) {
	all, tasks := make([]*probe, n), make([]hwt.TimerTask, n)
	for i := range all {
		all[i] = new(probe)
		tasks[i] = all[i]
	}
	return all, tasks
}

// scheduleBatch is NewTimeouts for n probes, where it must succeed.
func scheduleBatch(tb testing.TB, e hwt.Engine, n int, delay time.Duration) ([]*probe, []hwt.Timeout) {
	all, tasks := probes(n)
	timeouts, err := e.NewTimeouts(tasks, delay)
	require.NoError(tb, err)
	require.Len(tb, timeouts, n)
	return all, timeouts
}

func batchOnTime(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	pass(tick / 2) // at the edge of a tick, a task without delay could run in the same tick
	for _, n := range []int{0, 1, 2, 17, 3000} {
		begin := time.Now()
		tasks, timeouts := scheduleBatch(tb, e, n, 3*tick+1)
		assert.Equal(tb, n, e.Pending())
		_, soon := scheduleBatch(tb, e, n, -1) // may run before the next line
		for i, timeout := range timeouts {
			same(tb, e, timeout.Timer(), "Timer")
			same(tb, tasks[i], timeout.Task(), "Task")
			assert.Equal(tb, begin.Add(3*tick+1), timeout.Deadline())
		}
		pass(2 * tick)
		for _, timeout := range soon {
			assert.True(tb, timeout.IsExpired())
		}
		pass(10 * tick)
		for i, p := range tasks {
			ranOnTime(tb, p, begin.Add(3*tick+1), "of a batch")
			assert.True(tb, timeouts[i].IsExpired())
		}
	}
	assert.Equal(tb, 2*(1+2+17+3000), balanced(tb, e).Accepted)
}

func batchRefused(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{MaxPendingTimeouts: 10})
	_, tasks := probes(4)
	tasks[2] = hwt.TaskFunc(nil)
	refused := func(want error, tasks []hwt.TimerTask) {
		timeouts, err := e.NewTimeouts(tasks, time.Hour)
		require.ErrorIs(tb, err, want)
		require.Empty(tb, timeouts)
	}
	refused(hwt.ErrNilTask, tasks)
	_, six := scheduleBatch(tb, e, 6, time.Hour)
	_, five := probes(5)
	refused(hwt.ErrTooManyPending, five)
	var full *hwt.PendingLimitError
	_, err := e.NewTimeouts(five, 0)
	require.True(tb, errors.As(err, &full))
	assert.Equal(tb, hwt.PendingLimitError{Pending: 11, Max: 10}, *full)
	_, four := scheduleBatch(tb, e, 4, time.Hour)
	sameTimeouts(tb, append(six, four...), e.Stop())
	refused(hwt.ErrStopped, five)
	refused(hwt.ErrStopped, nil)
	pass(time.Hour)
	s := balanced(tb, e)
	assert.Equal(tb, [3]int64{10, 10, 2}, [3]int64{s.Accepted, s.Unprocessed, s.Rejected})
}

func batchEnds(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	for _, wait := range []time.Duration{0, 2 * tick, time.Hour} {
		begin := time.Now()
		tasks, timeouts := scheduleBatch(tb, e, 300, 2*time.Hour)
		pass(wait)
		for i, timeout := range timeouts {
			switch i % 3 {
			case 0:
				assert.True(tb, timeout.Cancel())
			case 1:
				assert.True(tb, timeout.Reset(tick))
			}
		}
		pass(3 * tick)
		for i, p := range tasks {
			want := [][2]int{{0, 1}, {1, 0}, {0, 0}}[i%3]
			assert.Equal(tb, want, [2]int{p.ran.count(), p.notified.count()}, "ran and notified")
		}
		pass(3 * time.Hour)
		for i := 2; i < len(tasks); i += 3 {
			ranOnTime(tb, tasks[i], begin.Add(2*time.Hour), "left alone")
		}
	}
	s := balanced(tb, e)
	assert.Equal(tb, [2]int64{300, 600}, [2]int64{s.Cancelled, s.Expired})
}

// batchWakes schedules a batch after hours without a call.
func batchWakes(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	for range 3 {
		schedule(tb, e, nothing, 10*time.Hour)
		pass(time.Hour)
		begin := time.Now()
		far, timeouts := scheduleBatch(tb, e, 100, 5*time.Hour)
		near, _ := scheduleBatch(tb, e, 100, tick)
		for _, timeout := range timeouts {
			assert.True(tb, timeout.Cancel())
		}
		pass(2 * tick)
		for i, p := range near {
			ranOnTime(tb, p, begin.Add(tick), "after an idle hour")
			assert.Equal(tb, 1, far[i].notified.count(), "notified within two ticks")
		}
	}
}

// batchAgainstStop uses the real clock because the calls must overlap.
func batchAgainstStop(tb testing.TB, newTimer factory) {
	accepted := 0
	for round := range 200 {
		e := newTimer.start(tb, Options{})
		batches := make([][]hwt.Timeout, 3)
		var unprocessed []hwt.Timeout
		together(len(batches)+1, func(i int) {
			if i == len(batches) {
				time.Sleep(time.Duration(round) * time.Microsecond / 4)
				unprocessed = e.Stop()
				return
			}
			_, tasks := probes(100)
			var err error
			if batches[i], err = e.NewTimeouts(tasks, time.Hour); err != nil {
				assert.ErrorIs(tb, err, hwt.ErrStopped)
			}
		})
		var want []hwt.Timeout
		for _, batch := range batches {
			assert.True(tb, len(batch) == 0 || len(batch) == 100, "a batch of %d", len(batch))
			want = append(want, batch...)
			accepted += len(batch)
		}
		sameTimeouts(tb, want, unprocessed)
		balanced(tb, e)
	}
	assert.Greater(tb, accepted, 0)
}

// batchesKeepMaximum uses the real clock because the calls must overlap.
func batchesKeepMaximum(tb testing.TB, newTimer factory) {
	const most = 100
	e := newTimer.start(tb, Options{MaxPendingTimeouts: most})
	var held atomic.Int64 // lower bound of the pending timeouts
	together(4, func(i int) {
		for range 300 {
			_, tasks := probes(20 + 7*i)
			timeouts, err := e.NewTimeouts(tasks, time.Hour)
			assert.LessOrEqual(tb, held.Add(int64(len(timeouts))), int64(most))
			var full *hwt.PendingLimitError
			if errors.As(err, &full) && full.Cancelled == 0 {
				assert.LessOrEqual(tb, full.Pending, int64(most+len(tasks)))
				assert.Greater(tb, full.Pending, int64(most))
			}
			for _, timeout := range timeouts {
				held.Add(-1)
				timeout.Cancel()
			}
		}
	})
	assert.Zero(tb, e.Pending())
	eventually(tb, "all places are free again", func() bool {
		_, tasks := probes(most)
		timeouts, err := e.NewTimeouts(tasks, time.Hour)
		for _, timeout := range timeouts {
			timeout.Cancel()
		}
		return err == nil
	})
	balanced(tb, e)
}
