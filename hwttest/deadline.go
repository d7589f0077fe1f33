package hwttest

import (
	"math"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var deadlineChecks = []check{
	{"DeadlineIsExactAndFollowsReset", fake, deadlineExact},
	{"DeadlineStaysWhenTheTimeoutEnds", fake, deadlineOfEnded},
	{"DeadlineOfAnEndlessDelayIsZero", fake, deadlineOfEndless},
	{"DeadlineOnTheRealClock", realClock, deadlineOnTheRealClock},
}

func deadlineExact(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	for _, delay := range []time.Duration{0, 1, 2, 3, 5, tick - 1, tick, time.Minute + 7, 100 * 24 * time.Hour} {
		due := time.Now().Add(delay)
		timeout := schedule(tb, e, nothing, delay)
		assert.Equal(tb, due, timeout.Deadline(), "delay %v", delay)
		if delay < time.Minute {
			continue
		}
		pass(tick + 1)
		assert.Equal(tb, due, timeout.Deadline(), "it does not move with the time")
		for _, again := range []time.Duration{time.Hour + 3, 5 * time.Second, 0} {
			due = time.Now().Add(again)
			require.True(tb, timeout.Reset(again))
			assert.Equal(tb, due, timeout.Deadline(), "reset to %v", again)
		}
	}
	late := schedule(tb, e, nothing, -time.Hour)
	assert.Equal(tb, time.Now(), late.Deadline(), "a delay below zero is none")
}

func deadlineOfEnded(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var inside time.Time
	start := time.Now()
	expired := schedule(tb, e, task(func(t hwt.Timeout) { inside = t.Deadline() }), tick/3)
	cancelled := schedule(tb, e, nothing, time.Minute)
	unprocessed := schedule(tb, e, nothing, time.Hour)
	require.True(tb, cancelled.Cancel())
	pass(5 * time.Second)
	require.Len(tb, e.Stop(), 1)
	assert.Equal(tb, start.Add(tick/3), inside, "seen from inside the task")
	assert.Equal(tb, start.Add(tick/3), expired.Deadline())
	assert.Equal(tb, start.Add(time.Minute), cancelled.Deadline())
	assert.Equal(tb, start.Add(time.Hour), unprocessed.Deadline())
}

func deadlineOfEndless(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	endless := schedule(tb, e, nothing, math.MaxInt64)
	assert.Zero(tb, endless.Deadline())
	reset := schedule(tb, e, nothing, time.Hour)
	require.True(tb, reset.Reset(math.MaxInt64-1))
	assert.Zero(tb, reset.Deadline())
	require.True(tb, reset.Reset(time.Hour))
	assert.Equal(tb, time.Now().Add(time.Hour), reset.Deadline())
	endless.Cancel()
	assert.Zero(tb, endless.Deadline())
}

// deadlineOnTheRealClock needs a monotonic clock. A bubble does not have one.
func deadlineOnTheRealClock(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	before := time.Now().Add(time.Hour)
	timeout := schedule(tb, e, nothing, time.Hour)
	after := time.Now().Add(time.Hour)
	between(tb, timeout.Deadline(), before, after, "the deadline")
	assert.Zero(tb, timeout.Deadline().Sub(timeout.Deadline()), "exact by the monotonic clock")
}
