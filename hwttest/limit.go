package hwttest

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var limitChecks = []check{
	{"ExactlyTheMaximumIsAllowed", fake, exactlyMaximum},
	{"CancelFreesAPlaceImmediately", fake, cancelFrees},
	{"ExpiryFreesAPlaceForItsTask", fake, expiryFrees},
	// Real: the garbage collector shows the memory in use.
	{"CancelledTimeoutsAreBoundedByTheMaximum", realClock, cancelledBounded},
	// Real: several processors race for the last places.
	{"MaximumHoldsAgainstRaces", realClock, maximumHolds},
}

// refused asserts that e is full, and reports it with Netty's numbers.
func refused(tb testing.TB, e hwt.Engine, limit int64) {
	timeout, err := e.NewTimeout(nothing, time.Second)
	require.Nil(tb, timeout)
	require.ErrorIs(tb, err, hwt.ErrTooManyPending)
	var full *hwt.PendingLimitError
	require.True(tb, errors.As(err, &full))
	assert.Equal(tb, hwt.PendingLimitError{Pending: limit + 1, Max: limit}, *full)
}

func exactlyMaximum(tb testing.TB, newTimer factory) {
	for _, limit := range []int64{1, 2, 100} {
		e := newTimer.start(tb, Options{MaxPendingTimeouts: limit})
		for range limit {
			schedule(tb, e, nothing, time.Hour)
		}
		for range 3 {
			refused(tb, e, limit)
			pass(3 * tick)
		}
		assert.Equal(tb, limit, e.Pending())
		s := balanced(tb, e)
		assert.Equal(tb, limit, s.Accepted)
		assert.Equal(tb, 3, s.Rejected)
		assert.Len(tb, e.Stop(), int(limit))
	}
}

// mostHeld is the number of cancelled timeouts that an engine with a small limit may
// hold.
const mostHeld = 4096

// cancelledBounded schedules and cancels while a task keeps the worker, if there is
// one, from releasing cancelled timeouts.
func cancelledBounded(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{TickDuration: realTick, MaxPendingTimeouts: 10})
	began, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	schedule(tb, e, task(func(hwt.Timeout) { close(began); <-release }), 0)
	<-began
	tasks := drop(tb, e, 4*mostHeld, time.Hour, cancelled)
	eventually(tb, "few are held", func() bool { return uncollected(tasks) <= mostHeld })
	assert.Zero(tb, e.Stats().Rejected)
	runtime.KeepAlive(e)
}

func cancelFrees(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{MaxPendingTimeouts: 2})
	schedule(tb, e, nothing, time.Hour)
	for range 100 {
		timeout := schedule(tb, e, nothing, time.Hour)
		refused(tb, e, 2)
		require.True(tb, timeout.Cancel())
		assert.False(tb, timeout.Cancel())
	}
	pass(3 * tick) // Releasing the cancelled ones frees no place again.
	schedule(tb, e, nothing, time.Hour)
	refused(tb, e, 2)
}

func expiryFrees(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{MaxPendingTimeouts: 1})
	ran := 0
	var again func(hwt.Timeout)
	again = func(hwt.Timeout) {
		ran++
		_, err := e.NewTimeout(task(again), tick)
		assert.NoError(tb, err, "the place of a running task is free")
		_, err = e.NewTimeout(nothing, tick)
		assert.ErrorIs(tb, err, hwt.ErrTooManyPending)
	}
	schedule(tb, e, task(again), tick)
	pass(100 * tick)
	assert.Greater(tb, ran, 40)
	assert.Equal(tb, 1, e.Pending())
}

// maximumHolds counts a timeout from the return of NewTimeout until the call of Cancel. The
// timeout holds its place for longer than that.
func maximumHolds(tb testing.TB, newTimer factory) {
	const limit = 50
	onProcs(func(int) {
		e := newTimer.start(tb, Options{TickDuration: time.Millisecond, MaxPendingTimeouts: limit})
		var held atomic.Int64
		begin := time.Now()
		together(4, func(int) {
			for time.Since(begin) < 30*time.Millisecond {
				timeouts := takePlaces(tb, e, &held, limit)
				held.Add(-int64(len(timeouts)))
				for _, timeout := range timeouts {
					assert.True(tb, timeout.Cancel())
				}
				_, _ = e.NewTimeout(nothing, 0)
			}
		})
		eventually(tb, "nothing pending", func() bool { return e.Pending() == 0 })
		for range limit { // A place becomes free shortly after Pending has fallen.
			require.True(tb, eventually(tb, "a place is free", func() bool {
				_, err := e.NewTimeout(nothing, time.Hour)
				return err == nil
			}))
		}
		refused(tb, e, limit)
		e.Stop()
		balanced(tb, e)
	})
}

// takePlaces schedules timeouts that will not expire, as many as the limit allows.
func takePlaces(tb testing.TB, e hwt.Engine, held *atomic.Int64, limit int64) []hwt.Timeout {
	var timeouts []hwt.Timeout
	for range rand.N(limit) {
		timeout, err := e.NewTimeout(nothing, time.Hour)
		if err != nil {
			assert.ErrorIs(tb, err, hwt.ErrTooManyPending)
			break
		}
		assert.LessOrEqual(tb, held.Add(1), limit, "pending at once")
		timeouts = append(timeouts, timeout)
	}
	return timeouts
}
