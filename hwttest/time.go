package hwttest

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var timeChecks = []check{
	{"NeverEarlyAndWithinATick", fake, aroundTickEdges},
	{"AnyTickDuration", fake, anyTick},
	{"ZeroDelayRunsAtTheNextOpportunity", fake, noDelay},
	{"EndlessDelayNeverExpires", fake, endlessDelay},
	{"OnTimeAfterIdleHours", fake, afterIdleHours},
	{"SlowTaskLeavesNoLag", fake, slowTaskLeavesNoLag},
	{"ExpiredBeforeTheTaskRuns", fake, expiredWhileRunning},
	// Real: only a clock that moves between two readings shows a deadline that was
	// rounded down, or a delay that starts at an old reading.
	{"NeverEarlyOnTheRealClock", realClock, neverEarlyReal},
}

// aroundTickEdges schedules at several times within a tick. The delays end at, just
// before and just after the edges of ticks, of powers of two ticks, and of the
// rotations and levels of the engines, up to hours.
func aroundTickEdges(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	c := newCourse(e, tick)
	const hour = time.Hour / tick
	for _, offset := range []time.Duration{0, 1, tick / 3, tick/2 + 1, tick - 1} {
		time.Sleep(offset)
		for _, ticks := range []time.Duration{0, 1, 2, 3, 7, 63, 64, 65, 127, 128, 511, 512, 513, 1024, 4095, 4096, 4097, 8192, hour, 5*hour + 1} {
			for _, odd := range []time.Duration{-tick / 2, -1, 0, 1, 333, tick / 2, tick - 1} {
				if delay := ticks*tick + odd; delay > 0 {
					c.add(tb, delay)
				}
			}
		}
	}
	pass((5*hour + 4) * tick)
	c.verify(tb)
}

func anyTick(tb testing.TB, newTimer factory) {
	for _, tick := range []time.Duration{time.Millisecond, 1234567 * time.Nanosecond, 7 * time.Millisecond, time.Second, time.Minute} {
		e := newTimer.start(tb, Options{TickDuration: tick})
		c := newCourse(e, tick)
		for _, delay := range []time.Duration{1, 17, tick / 7, tick - 1, tick, tick + 1, 3*tick - 1, 3 * tick, 1000*tick + 1} {
			c.add(tb, delay)
			time.Sleep(tick / 7)
		}
		pass(1005 * tick)
		c.verify(tb)
		e.Stop()
	}
}

// course is a set of timeouts that must expire on time.
type course struct {
	e       hwt.Engine
	tick    time.Duration
	created time.Time // of the engine: ticks count from here
	runners []runner
}

// runner is a timeout of a course.
type runner struct {
	probe    *probe
	from     time.Duration // since the engine's creation
	deadline time.Duration // since the engine's creation
}

func newCourse(e hwt.Engine, tick time.Duration) *course {
	return &course{e: e, tick: tick, created: time.Now()}
}

func (c *course) add(tb testing.TB, delay time.Duration) {
	from := time.Since(c.created)
	r := runner{new(probe), from, from + delay}
	schedule(tb, c.e, r.probe, delay)
	c.runners = append(c.runners, r)
}

// verify asserts that all tasks ran, never before their deadline, and no later than the
// first edge of a tick from it on.
func (c *course) verify(tb testing.TB) {
	for _, r := range c.runners {
		require.Equal(tb, 1, r.probe.ran.count(), "runs, scheduled at %v for %v", r.from, r.deadline)
		edge := (r.deadline + c.tick - 1) / c.tick * c.tick
		between(tb, r.probe.ran.at(), c.created.Add(r.deadline), c.created.Add(edge),
			"tick %v, scheduled at %v for %v", c.tick, r.from, r.deadline)
	}
	assert.Zero(tb, c.e.Pending())
	assert.Equal(tb, len(c.runners), balanced(tb, c.e).Expired)
}

func noDelay(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	for _, delay := range []time.Duration{0, -1, -tick, -time.Hour, math.MinInt64, math.MinInt64 + 1} {
		for _, offset := range []time.Duration{0, tick / 3, 5*tick - 1, time.Minute} {
			time.Sleep(offset)
			p, now := new(probe), time.Now()
			schedule(tb, e, p, delay)
			pass(2 * tick)
			ranOnTime(tb, p, now, "delay %v", delay)
		}
	}
}

func endlessDelay(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	const decades = 250 * 365 * 24 * time.Hour
	var never mark
	var timeouts []hwt.Timeout
	for range 3 {
		for _, delay := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - tick, math.MaxInt64 / 2, decades} {
			timeouts = append(timeouts, schedule(tb, e, task(func(hwt.Timeout) { never.set() }), delay))
		}
		pass(time.Hour + tick/3) // The next round's deadlines are past the clock's range.
	}
	worksOnTime(tb, e, tick, "next to endless ones")
	assert.Zero(tb, never.count())
	assert.True(tb, timeouts[0].Cancel())
	sameTimeouts(tb, timeouts[1:], e.Stop())
}

func afterIdleHours(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	for _, idle := range []time.Duration{0, 3*time.Hour + tick/3, 1, 40 * time.Hour, tick - 1} {
		time.Sleep(idle)
		worksOnTime(tb, e, 5*tick+1, "after %v of nothing", idle)
	}
}

// slowTaskLeavesNoLag blocks the goroutine that runs tasks. Timeouts that expire during the
// block are late, and later timeouts are on time again.
func slowTaskLeavesNoLag(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	const slow = 20*tick + tick/2
	schedule(tb, e, task(func(hwt.Timeout) { time.Sleep(slow) }), tick)
	begin := time.Now()
	held, later := new(probe), new(probe)
	schedule(tb, e, held, 5*tick)
	schedule(tb, e, later, 30*tick)
	pass(10 * tick)
	meanwhile, now := new(probe), time.Now()
	schedule(tb, e, meanwhile, 20*tick)

	pass(40 * tick)
	require.Equal(tb, 1, held.ran.count())
	between(tb, held.ran.at(), begin.Add(5*tick), begin.Add(tick+slow+2*tick), "held up")
	ranOnTime(tb, later, begin.Add(30*tick), "after the slow task")
	ranOnTime(tb, meanwhile, now.Add(20*tick), "scheduled during the slow task")
}

func expiredWhileRunning(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	ran := false
	schedule(tb, e, task(func(timeout hwt.Timeout) {
		ran = true
		assert.True(tb, timeout.IsExpired(), "IsExpired")
		assert.False(tb, timeout.IsCancelled(), "IsCancelled")
		assert.False(tb, timeout.Cancel(), "Cancel")
		assert.False(tb, timeout.Reset(time.Second), "Reset")
		assert.Zero(tb, e.Pending(), "the count falls before the task runs")
	}), tick)
	pass(time.Minute)
	assert.True(tb, ran)
	assert.Equal(tb, 1, balanced(tb, e).Expired)
}

func neverEarlyReal(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{TickDuration: time.Millisecond})
	const n = 500
	var ran atomic.Int64
	for range n {
		delay := upTo(30 * time.Millisecond)
		before := time.Now()
		schedule(tb, e, task(func(hwt.Timeout) {
			assert.LessOrEqual(tb, delay, time.Since(before), "ran early")
			ran.Add(1)
		}), delay)
		time.Sleep(upTo(100 * time.Microsecond))
	}
	eventually(tb, "all have run", func() bool { return ran.Load() == n })
	eventually(tb, "nothing pending", func() bool { return e.Pending() == 0 })
}
