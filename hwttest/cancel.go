package hwttest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var cancelChecks = []check{
	{"CancelledNeverRuns", fake, cancelledNeverRuns},
	{"CancelIsTrueOnce", fake, cancelTrueOnce},
	{"PendingFallsBeforeCancelReturns", fake, pendingFallsAtOnce},
	{"CancelAgainstExpiryHasOneWinner", fake, cancelAgainstExpiry},
	{"CancelOfAnotherFromATaskHolds", fake, cancelFromTask},
}

func cancelledNeverRuns(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	delays := []time.Duration{-1, 0, 1, tick - 1, tick, 3 * tick, time.Second, time.Hour}
	var never []*probe
	for _, wait := range []time.Duration{0, 1, tick / 2, tick, 2 * tick} {
		for _, delay := range delays {
			if wait > 0 && delay <= wait {
				continue // It expires before the cancel.
			}
			p := new(probe)
			timeout := schedule(tb, e, p, delay)
			time.Sleep(wait)
			if timeout.Cancel() {
				never = append(never, p)
			} else {
				assert.LessOrEqual(tb, delay, time.Duration(0), "only one that is due already may be lost")
			}
		}
	}
	pass(2 * time.Hour)
	allRan(tb, 0, never)
	assert.Equal(tb, len(never), balanced(tb, e).Cancelled)
}

func cancelTrueOnce(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	for round := range 100 {
		timeout := schedule(tb, e, nothing, time.Second)
		if round%2 == 0 {
			pass(2 * tick) // The engine has stored it.
		}
		var wins atomic.Int64
		together(8, func(int) {
			if timeout.Cancel() {
				wins.Add(1)
			}
			assert.True(tb, timeout.IsCancelled())
		})
		assert.Equal(tb, 1, wins.Load())
		assert.False(tb, timeout.Cancel())
	}
	assert.Equal(tb, 100, balanced(tb, e).Cancelled)
	assert.Zero(tb, e.Pending())
}

func pendingFallsAtOnce(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	_, timeouts := scheduleAll(tb, e, 100, time.Hour, newProbe)
	for i, timeout := range timeouts {
		if i == len(timeouts)/2 {
			pass(3 * tick) // The first half is cancelled in the intake.
		}
		timeout.Cancel()
		assert.Equal(tb, len(timeouts)-i-1, e.Pending())
		timeout.Cancel()
		assert.Equal(tb, len(timeouts)-i-1, e.Pending(), "a second Cancel counts nothing")
	}
	pass(3 * tick)
	assert.Zero(tb, e.Pending(), "sweeping counts nothing down again")
	assert.Equal(tb, len(timeouts), balanced(tb, e).Cancelled)
}

// cancelAgainstExpiry cancels at the deadline of the timeouts, from goroutines that started to
// sleep before and after the timeouts were scheduled. Either side may be first.
func cancelAgainstExpiry(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	for range 50 {
		var tasks []*fate
		var timeouts []hwt.Timeout
		atOnce(2*tick,
			func() { tasks, timeouts = scheduleAll(tb, e, 20, 2*tick, newFate) },
			func() {
				for i, timeout := range timeouts {
					tasks[i].cancel(timeout)
				}
			})
		pass(3 * tick)
		for i, f := range tasks {
			ends := f.ends()
			assert.Equal(tb, 1, ends[0]+ends[1], "ends: ran %d, cancelled %d", ends[0], ends[1])
			assert.Equal(tb, ends[0] == 1, timeouts[i].IsExpired())
		}
		assert.Zero(tb, e.Pending())
	}
	balanced(tb, e)
}

// cancelFromTask lets every task of a tick cancel all others. After Cancel has returned true,
// the task must not run, even if it is next in the same bucket.
func cancelFromTask(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	const n = 20
	var timeouts [n]atomic.Pointer[hwt.Timeout] // Atomic: tasks may run before NewTimeout's result is stored.
	var ran, cancelled [n]atomic.Int64
	for i := range timeouts {
		timeout := schedule(tb, e, task(func(hwt.Timeout) {
			ran[i].Add(1)
			for other := range timeouts {
				if (*timeouts[other].Load()).Cancel() {
					cancelled[other].Add(1)
				}
			}
		}), 5*tick)
		timeouts[i].Store(&timeout)
	}
	pass(10 * tick)
	for i := range timeouts {
		assert.Equal(tb, 1, ran[i].Load()+cancelled[i].Load(), "ends of timeout %d", i)
	}
	assert.Zero(tb, e.Pending())
	balanced(tb, e)
}
