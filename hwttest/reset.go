package hwttest

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var resetChecks = []check{
	{"ResetMovesTheDeadline", fake, resetMoves},
	{"ResetAcrossAnyDistance", fake, resetAnyDistance},
	{"ResetNeverRevives", fake, resetNeverRevives},
	{"ResetToNeverAndBack", fake, resetNever},
	{"ResetFromOtherTasks", fake, resetFromTasks},
	{"ResetChangesNoCount", fake, resetCountsNothing},
	{"ResetAgainstExpiryRunsOnceAndOnTime", fake, resetAgainstExpiry},
	// Real: the race needs a clock that moves between two steps.
	{"ResetAgainstExpiryOnTheRealClock", realClock, resetAgainstExpiryReal},
}

// resetMoves resets after waits within and past a tick to delays that make the
// deadline later, earlier, the same, and immediate.
func resetMoves(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	const first = 20 * tick
	for _, wait := range []time.Duration{0, 1, tick / 3, tick, 10 * tick, 19*tick - 1} {
		for _, delay := range []time.Duration{math.MinInt64, -1, 0, 1, tick / 2, tick, 2*tick + 1, first - wait - 1, first - wait, first - wait + 1, first, 600 * tick, 5000*tick + 3} {
			p := new(probe)
			timeout := schedule(tb, e, p, first)
			time.Sleep(wait)
			now := time.Now()
			require.True(tb, timeout.Reset(delay))
			pass(max(delay, first) + 3*tick)
			ranOnTime(tb, p, now.Add(max(delay, 0)), "reset after %v to %v", wait, delay)
			assert.True(tb, timeout.IsExpired())
		}
	}
	balanced(tb, e)
}

// resetAnyDistance resets timeouts to random delays from nanoseconds to an hour.
func resetAnyDistance(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	anyDelay := func() time.Duration { return 1 + rand.N(time.Duration(1)<<(10+rand.N(32))) }
	const n = 50
	tasks, timeouts := scheduleAll(tb, e, n, time.Minute, newProbe)
	deadlines := make([]time.Time, n)
	for i := range deadlines {
		deadlines[i] = time.Now().Add(time.Minute)
	}
	for range 40 {
		for i, timeout := range timeouts {
			delay, now := anyDelay(), time.Now()
			if timeout.Reset(delay) {
				deadlines[i] = now.Add(delay)
			}
		}
		time.Sleep(anyDelay() / 64)
	}
	pass(3 * time.Hour)
	for i, p := range tasks {
		ranOnTime(tb, p, deadlines[i], "timeout %d", i)
	}
	assert.Zero(tb, e.Pending())
}

func resetNeverRevives(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	over, gone, swept := new(probe), new(probe), new(probe)
	expired := schedule(tb, e, over, tick)
	cancelled := schedule(tb, e, gone, tick)
	stopped := schedule(tb, e, swept, time.Hour)
	cancelled.Cancel()
	assert.False(tb, cancelled.Reset(tick), "immediately after Cancel")
	pass(3 * tick)
	e.Stop()
	for _, timeout := range []hwt.Timeout{expired, cancelled, stopped} {
		for _, delay := range []time.Duration{math.MinInt64, 0, tick, time.Hour, math.MaxInt64} {
			assert.False(tb, timeout.Reset(delay))
		}
	}
	pass(3 * time.Hour)
	assert.Equal(tb, 1, over.ran.count())
	assert.Zero(tb, gone.ran.count())
	assert.Zero(tb, swept.ran.count())
	assert.Zero(tb, e.Pending())
}

func resetNever(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	p := new(probe)
	timeout := schedule(tb, e, p, time.Second)
	pass(time.Second / 2)
	require.True(tb, timeout.Reset(math.MaxInt64))
	pass(100 * time.Hour)
	assert.Zero(tb, p.ran.count(), "it was put off forever")
	now := time.Now()
	require.True(tb, timeout.Reset(time.Second))
	pass(2 * time.Second)
	ranOnTime(tb, p, now.Add(time.Second), "back from never")
}

// resetFromTasks resets timeouts of the same tick and of later ones from inside tasks.
func resetFromTasks(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	tasks, timeouts := scheduleAll(tb, e, 20, 10*tick, newProbe)
	moved := make([]atomic.Pointer[time.Time], len(tasks))
	for range 4 {
		schedule(tb, e, task(func(hwt.Timeout) {
			for i, timeout := range timeouts {
				deadline := time.Now().Add(time.Duration(i) * tick)
				if timeout.Reset(time.Duration(i) * tick) {
					moved[i].Store(&deadline)
				}
			}
		}), 10*tick)
	}
	due := time.Now().Add(10 * tick)
	pass(100 * tick)
	for i, p := range tasks {
		deadline := due
		if m := moved[i].Load(); m != nil {
			deadline = *m
		}
		ranOnTime(tb, p, deadline, "timeout %d", i)
	}
}

func resetCountsNothing(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{MaxPendingTimeouts: 1})
	timeout := schedule(tb, e, nothing, time.Second)
	for range 100 {
		require.True(tb, timeout.Reset(time.Second))
		require.Equal(tb, 1, e.Pending())
		pass(tick)
	}
	assert.Equal(tb, 1, balanced(tb, e).Accepted)
	pass(time.Minute)
	assert.Zero(tb, e.Pending())
	assert.Equal(tb, 1, balanced(tb, e).Expired)
}

// resetAgainstExpiry resets timeouts at their deadline. Each runs once: at the old or at
// the new deadline.
func resetAgainstExpiry(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	for round := range 100 {
		const n = 10
		delay := time.Duration(round%5) * tick
		var tasks []*probe
		var timeouts []hwt.Timeout
		var again [n]atomic.Bool
		begin := time.Now()
		atOnce(2*tick,
			func() { tasks, timeouts = scheduleAll(tb, e, n, 2*tick, newProbe) },
			func() {
				for i, timeout := range timeouts {
					if timeout.Reset(delay) {
						again[i].Store(true)
					}
				}
			})
		pass(10 * tick)
		for i, p := range tasks {
			deadline := begin.Add(2 * tick)
			if again[i].Load() {
				deadline = deadline.Add(delay)
			}
			ranOnTime(tb, p, deadline, "reset said %v", again[i].Load())
		}
		assert.Zero(tb, e.Pending())
	}
	balanced(tb, e)
}

func resetAgainstExpiryReal(tb testing.TB, newTimer factory) {
	onProcs(func(int) {
		e := newTimer.start(tb, Options{TickDuration: time.Millisecond})
		together(4, func(int) {
			for range 20 {
				racedReset(tb, e)
			}
		})
		assert.Zero(tb, e.Pending())
		balanced(tb, e)
	})
}

// racedReset resets a timeout close to its deadline until that fails.
func racedReset(tb testing.TB, e hwt.Engine) {
	p := new(probe)
	before, delay := time.Now(), upTo(2*time.Millisecond)
	timeout, err := e.NewTimeout(p, delay)
	if !assert.NoError(tb, err) {
		return
	}
	earliest := before.Add(delay)
	for {
		time.Sleep(upTo(3 * time.Millisecond / 2))
		before, delay = time.Now(), upTo(2*time.Millisecond)
		if !timeout.Reset(delay) {
			break
		}
		earliest = before.Add(delay)
	}
	assert.True(tb, timeout.IsExpired(), "Reset failed on a timeout that has not expired")
	eventually(tb, "the task runs", func() bool { return p.ran.count() > 0 })
	time.Sleep(upTo(3 * time.Millisecond)) // For a second run, if there is one.
	assert.Equal(tb, 1, p.ran.count(), "runs")
	assert.False(tb, p.ran.at().Before(earliest), "ran %v before the last Reset's deadline", earliest.Sub(p.ran.at()))
}
