package hwttest

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var cancelledTaskChecks = []check{
	{"StopWaitsForARunningCallback", fake, stopWaitsForCancelled},
	{"CancelledIsCalledOnceAndSoon", fake, toldOnce},
	{"CancelledIsCalledOnlyAfterCancel", fake, toldNothingElse},
	{"CancelledIsCalledIfStopFollows", fake, toldThoughStopped},
	{"CancelledSeesTheEndedTimeout", fake, toldSees},
	{"CancelledMayUseTheTimer", fake, toldUsesTimer},
	{"BadCancelledAffectsNoOther", fake, toldBadly},
	{"CancelledRunsOnTheExecutor", fake, toldOnExecutor},
}

// canceller is a task that calls a function when it is cancelled.
type canceller struct {
	probe
	then func(timeout hwt.Timeout)
}

func (c *canceller) Cancelled(timeout hwt.Timeout) {
	c.probe.Cancelled(timeout)
	c.then(timeout)
}

func toldOnce(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	for _, wait := range []time.Duration{0, 1, tick / 2, tick, 3*tick + 1, time.Minute} {
		for _, delay := range []time.Duration{time.Minute + tick, time.Hour, 1000 * time.Hour} {
			p := new(probe)
			timeout := schedule(tb, e, p, delay)
			time.Sleep(wait)
			now := time.Now()
			require.True(tb, timeout.Cancel())
			assert.False(tb, timeout.Cancel())
			pass(5 * tick)
			require.Equal(tb, 1, p.notified.count(), "cancelled %v after it was scheduled for %v", wait, delay)
			between(tb, p.notified.at(), now, now.Add(2*tick), "notified")
			assert.Zero(tb, p.ran.count())
		}
	}
	p := new(probe)
	timeout := schedule(tb, e, p, time.Hour)
	pass(3 * tick)
	timeout.Reset(100 * time.Hour)
	now := time.Now()
	timeout.Cancel()
	pass(2000 * time.Hour)
	require.Equal(tb, 1, p.notified.count(), "after a Reset")
	between(tb, p.notified.at(), now, now.Add(2*tick), "notified after a Reset")
}

func toldNothingElse(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	expires, moved, swept := new(probe), new(probe), new(probe)
	over := schedule(tb, e, expires, tick)
	later := schedule(tb, e, moved, tick)
	later.Reset(2 * tick)
	schedule(tb, e, swept, time.Hour)
	pass(5 * tick)
	over.Cancel()
	later.Cancel()
	e.Stop()
	pass(2 * time.Hour)
	for _, p := range []*probe{expires, moved, swept} {
		assert.Zero(tb, p.notified.count())
	}
}

// toldThoughStopped cancels just before Stop. Cancel ended the timeouts, not Stop: the
// tasks are notified, and Stop does not return the timeouts.
func toldThoughStopped(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	tasks, timeouts := scheduleAll(tb, e, 20, time.Hour, newProbe)
	pass(2*tick + 1)
	fresh, freshTimeouts := scheduleAll(tb, e, 20, time.Hour, newProbe)
	for _, timeout := range append(timeouts, freshTimeouts...) {
		require.True(tb, timeout.Cancel())
	}
	assert.Empty(tb, e.Stop())
	pass(2 * tick)
	for _, p := range append(tasks, fresh...) {
		assert.Equal(tb, 1, p.notified.count())
	}
	assert.Equal(tb, 40, balanced(tb, e).Cancelled)
}

func toldSees(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	c := new(canceller)
	c.then = func(timeout hwt.Timeout) {
		assert.True(tb, timeout.IsCancelled())
		assert.False(tb, timeout.IsExpired())
		assert.False(tb, timeout.Cancel())
		assert.False(tb, timeout.Reset(tick))
		same(tb, c, timeout.Task(), "Task")
		same(tb, e, timeout.Timer(), "Timer")
		assert.Zero(tb, e.Pending())
	}
	schedule(tb, e, c, time.Hour).Cancel()
	pass(3 * tick)
	assert.Equal(tb, 1, c.notified.count())
}

func toldUsesTimer(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	p := new(probe)
	var again time.Time
	other := schedule(tb, e, nothing, time.Hour)
	c := &canceller{then: func(hwt.Timeout) {
		again = time.Now()
		_, err := e.NewTimeout(p, 3*tick)
		assert.NoError(tb, err)
		assert.True(tb, other.Cancel())
	}}
	schedule(tb, e, c, time.Hour).Cancel()
	pass(10 * tick)
	ranOnTime(tb, p, again.Add(3*tick), "scheduled by Cancelled")
	assert.Equal(tb, 2, balanced(tb, e).Cancelled)
	stops := &canceller{then: func(hwt.Timeout) { e.Stop() }}
	schedule(tb, e, stops, time.Hour).Cancel()
	pass(time.Minute)
	_, err := e.NewTimeout(nothing, 0)
	assert.ErrorIs(tb, err, hwt.ErrStopped)
}

func toldBadly(tb testing.TB, newTimer factory) {
	for name, bad := range map[string]func(){
		"panics":             func() { panic("notified") },
		"ends its goroutine": runtime.Goexit,
	} {
		var reported reports
		e := newTimer.start(tb, Options{ErrorHandler: reported.handle})
		newBad := func() *canceller { return &canceller{then: func(hwt.Timeout) { bad() }} }
		tasks, timeouts := scheduleAll(tb, e, 5, time.Hour, newBad)
		for _, timeout := range timeouts {
			timeout.Cancel()
		}
		worksOnTime(tb, e, 5*tick, "after a callback that %s", name)
		for _, c := range tasks {
			assert.Equal(tb, 1, c.notified.count(), name)
		}
		all := reported.take()
		require.Len(tb, all, 5, name)
		for _, r := range all {
			assert.True(tb, slices.Contains(timeouts, r.timeout), name)
		}
		assert.Zero(tb, balanced(tb, e).Pending)
	}
}

func toldOnExecutor(tb testing.TB, newTimer factory) {
	q := make(queue, 10)
	e := newTimer.start(tb, Options{Executor: q})
	p := new(probe)
	schedule(tb, e, p, time.Hour).Cancel()
	schedule(tb, e, nothing, time.Hour).Cancel() // Is not notified.
	pass(3 * tick)
	assert.Zero(tb, p.notified.count())
	require.Len(tb, q, 1)
	(<-q)()
	assert.Equal(tb, 1, p.notified.count())
}
