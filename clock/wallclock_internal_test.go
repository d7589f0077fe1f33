package clock

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// hourly is a schedule of the wall clock's full hours.
type hourly struct{}

func (hourly) Next(t time.Time) time.Time { return t.Round(0).Truncate(time.Hour).Add(time.Hour) }

// steppedClock is a clock on a runtimetimer with an adjustable wall clock.
func steppedClock(t *testing.T) (c *Clock, set func(ahead time.Duration)) {
	t.Helper()
	timer, err := runtimetimer.New(nil)
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	c, err = New(timer, nil)
	require.NoError(t, err)
	return c, func(d time.Duration) {
		c.ahead.Store(int64(d))
		c.followSteps() // as the kernel does
	}
}

// TestStepOfTheWallClockIsNoticed uses the real clocks, because a bubble's wall clock and
// monotonic clock never differ.
func TestStepOfTheWallClockIsNoticed(t *testing.T) {
	c, set := steppedClock(t)
	var runs atomic.Int64
	job, err := c.ScheduleFunc(hourly{}, func() { runs.Add(1) }, nil)
	require.NoError(t, err)
	next := job.Next()
	set(time.Until(next) + time.Second)
	assert.Eventually(t, func() bool { return runs.Load() == 1 && job.Next().After(next) }, 20*time.Second, time.Millisecond)
	assert.Equal(t, next.Add(time.Hour), job.Next())
	job.Stop()
	job.Wait()
	c.wall.mu.Lock()
	defer c.wall.mu.Unlock()
	assert.Nil(t, c.wall.timeout, "without jobs")
}

// looked lets the clock check for a step, as its timeout does.
func looked(t *testing.T, c *Clock) {
	t.Helper()
	c.wall.timeout.(*idleTimeout).expired = true
	require.NoError(t, (*lookTask)(c).Run(nil))
	synctest.Wait()
}

// TestJobFollowsTheWallClock sets the wall clock of a job in steps, one after another. A
// bubble begins at midnight.
func TestJobFollowsTheWallClock(t *testing.T) {
	const hour = time.Hour
	steps := func(all ...time.Duration) []time.Duration { return all }
	for name, c := range map[string]struct {
		schedule Schedule
		steps    []time.Duration
		next     time.Duration // Change of the job's next time.
		armed    time.Duration // Change of its timeout's delay.
	}{
		"slewed":                         {hourly{}, steps(leastStep / 2), 0, 0},
		"forward":                        {hourly{}, steps(10 * time.Minute), 0, -10 * time.Minute},
		"paced, back":                    {hourly{}, steps(-2 * hour), -2 * hour, 0},
		"paced, in a year":               {hourly{}, steps(-24 * 365 * hour), -24 * 365 * hour, 0},
		"paced, by half a period":        {hourly{}, steps(-hour / 2), -hour, -hour / 2},
		"each minute":                    {spec(t, "* * * * *"), steps(-hour), -hour, 0},
		"wildcard hour":                  {spec(t, "30 * * * *"), steps(-2 * hour), -2 * hour, 0},
		"steps of hours":                 {spec(t, "30 */2 * * *"), steps(-2 * hour), -2 * hour, 0},
		"each minute of a second week":   {spec(t, "START=1999-12-27T00:00:00Z EVERY=2w * * * * *"), steps(-hour), -hour, 0},
		"elapsed":                        {spec(t, "@every 90m"), steps(-hour), -hour, 0},
		"elapsed, JITTER":                {spec(t, "JITTER=1ns @every 90m"), steps(-hour), -hour, 0},
		"elapsed, many steps":            {spec(t, "@every 90m"), steps(-hour, -hour, -hour, -hour), -4 * hour, 0},
		"elapsed from a start":           {spec(t, "START=1999-01-01T00:00:00Z @every 90m"), steps(-3 * hour / 2), -3 * hour / 2, 0},
		"fixed hour, forward":            {spec(t, "30 2 * * *"), steps(hour), 0, -hour},
		"fixed hour, back":               {spec(t, "30 2 * * *"), steps(-2 * hour), 0, 2 * hour},
		"fixed hour, JITTER":             {spec(t, "JITTER=1ns 30 2 * * *"), steps(-2 * hour), 0, 2 * hour},
		"every two hours":                {twoHourly{}, steps(-2 * hour), 0, 2 * hour},
		"fixed hour, in small steps":     {spec(t, "30 22 * * *"), steps(-hour, -hour, -hour/2), 0, 5 * hour / 2},
		"fixed hour, small steps add up": {spec(t, "30 22 * * *"), steps(-hour, -hour, -hour), -24 * hour, -21 * hour},
		"fixed hour, ahead for a while":  {spec(t, "30 2 * * *"), steps(2*hour, -2*hour), 0, 0},
		"fixed hour, ahead and farther":  {spec(t, "30 22 * * *"), steps(2*hour, -3*hour), -24 * hour, -23 * hour},
		"fixed hour, far back, forward":  {spec(t, "30 22 * * *"), steps(-4*hour, 4*hour), -24 * hour, -24 * hour},
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				clock := newIdleClock(t)
				clock.wall.off = false
				j, err := clock.ScheduleFunc(c.schedule, func() {}, nil)
				require.NoError(t, err)
				next, delay := j.Next(), j.timeout.(*idleTimeout).delay
				for _, step := range c.steps {
					clock.ahead.Add(int64(step))
					looked(t, clock)
				}
				if c.armed+delay > 0 {
					assert.Equal(t, c.next, j.Next().Sub(next))
					assert.Equal(t, c.armed, j.timeout.(*idleTimeout).delay-delay)
					looked(t, clock)
					assert.Equal(t, c.next, j.Next().Sub(next))
				}
				j.Stop()
				j.Wait()
			})
		})
	}
}

func spec(t *testing.T, text string) *Spec {
	t.Helper()
	s, err := ParseSpec(text)
	require.NoError(t, err)
	return s
}

// twoHourly is a schedule of the wall clock's even hours.
type twoHourly struct{}

func (twoHourly) Next(t time.Time) time.Time {
	return t.Round(0).Truncate(2 * time.Hour).Add(2 * time.Hour)
}

// TestPacedJobRunsAfterAStepBack sets the wall clock back by an hour, or
// corrects one that was ahead.
func TestPacedJobRunsAfterAStepBack(t *testing.T) {
	for _, text := range []string{"* * * * * *", "*/2 * * * * *", "@every 1s", "START=1999-01-01T00:00:00Z @every 1s"} {
		for _, ahead := range []time.Duration{0, 2 * time.Hour} {
			t.Run(fmt.Sprintf("%s after %v", text, ahead), func(t *testing.T) {
				enginetest.Bubble(t, func(t *testing.T) {
					c, set := steppedClock(t)
					c.wall.off = false
					var runs atomic.Int64
					job, err := c.ScheduleFunc(spec(t, text), func() { runs.Add(1) }, nil)
					require.NoError(t, err)
					set(ahead)
					time.Sleep(10 * time.Second)
					before := runs.Load()
					assert.GreaterOrEqual(t, before, int64(4))
					set(ahead - 2*time.Hour + time.Second/2)
					time.Sleep(10 * time.Second)
					assert.GreaterOrEqual(t, runs.Load()-before, int64(4))
					job.Stop()
					job.Wait()
				})
			})
		}
	}
}

// TestFixedHourRunsOnceWhenTheClockIsSetBack sets the wall clock back after the run.
func TestFixedHourRunsOnceWhenTheClockIsSetBack(t *testing.T) {
	for back, want := range map[time.Duration]int64{time.Hour: 1, 3 * time.Hour: 2} {
		t.Run(back.String(), func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				c, set := steppedClock(t)
				c.wall.off = false
				var runs atomic.Int64
				job, err := c.ScheduleFunc(spec(t, "30 4 * * *"), func() { runs.Add(1) }, nil)
				require.NoError(t, err)
				time.Sleep(5 * time.Hour)
				assert.EqualValues(t, 1, runs.Load())
				set(-back)
				time.Sleep(5 * time.Hour)
				assert.Equal(t, want, runs.Load())
				job.Stop()
				job.Wait()
			})
		})
	}
}

// TestStepBackBetweenARunAndItsPlanIsNotLost sets the clock back when a run is due.
func TestStepBackBetweenARunAndItsPlanIsNotLost(t *testing.T) {
	for text, want := range map[string]time.Duration{"* * * * *": time.Minute, "@every 1m": time.Minute, "0 2 * * *": 26 * time.Hour} {
		t.Run(text, func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				c := newIdleClock(t)
				c.wall.off = false
				j, err := c.ScheduleFunc(spec(t, text), func() {}, nil)
				require.NoError(t, err)
				time.Sleep(time.Until(j.Next()))
				j.timeout.(*idleTimeout).expired = true
				due, ok := j.expire()
				require.True(t, ok)
				c.ahead.Store(int64(-2 * time.Hour))
				assert.Equal(t, 1, j.plan(due))
				assert.Equal(t, want, c.until(j.Next()))
				j.run(1)
				j.done()
				j.Stop()
			})
		})
	}
}

// settingBack is a schedule during whose second call the clock is set back.
type settingBack struct {
	*Spec
	set   func(time.Duration)
	calls int
}

func (s *settingBack) Next(t time.Time) time.Time {
	if s.calls++; s.calls == 2 {
		s.set(-time.Hour)
	}
	return s.Spec.Next(t)
}

func TestStepBackDuringACallOfNextIsNotLost(t *testing.T) {
	for text, want := range map[string]time.Duration{"30 * * * *": time.Hour, "30 */2 * * *": 3 * time.Hour} {
		t.Run(text, func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				c, set := steppedClock(t)
				c.wall.off = false
				job, err := c.ScheduleFunc(&settingBack{Spec: spec(t, text), set: set}, func() {}, nil)
				require.NoError(t, err)
				time.Sleep(time.Hour - time.Minute)
				assert.Equal(t, want, job.Next().Sub(c.present())+29*time.Minute)
				job.Stop()
				job.Wait()
			})
		})
	}
}

// stuck is an hourly schedule whose calls after the first wait for release.
type stuck struct {
	release chan struct{}
	called  bool
}

func (s *stuck) Next(t time.Time) time.Time {
	if s.called {
		<-s.release
	}
	s.called = true
	return hourly{}.Next(t)
}

func TestScheduleThatBlocksHoldsUpNoOtherJob(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		clock := newIdleClock(t)
		clock.wall.off = false
		release := make(chan struct{})
		schedules := []Schedule{hourly{}}
		for range 9 {
			schedules = append(schedules, &stuck{release: release})
		}
		var jobs []*Job
		for _, s := range schedules {
			j, err := clock.ScheduleFunc(s, func() {}, nil)
			require.NoError(t, err)
			jobs = append(jobs, j)
		}
		const step = -24 * 365 * time.Hour
		next := jobs[0].Next().Add(step)
		clock.ahead.Store(int64(step))
		looked(t, clock)
		assert.Equal(t, next, jobs[0].Next())
		close(release)
		synctest.Wait()
		for _, j := range jobs {
			assert.Equal(t, next, j.Next())
			j.Stop()
			j.Wait()
		}
	})
}

// TestStepIsNotLostWhenAJobJoins sets the wall clock, and adds a job between the expiry of
// the clock's timeout and its task.
func TestStepIsNotLostWhenAJobJoins(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		clock := newIdleClock(t)
		clock.wall.off = false
		first, err := clock.ScheduleFunc(hourly{}, func() {}, nil)
		require.NoError(t, err)
		delay := first.timeout.(*idleTimeout).delay
		clock.ahead.Store(int64(10 * time.Minute))
		clock.wall.timeout.(*idleTimeout).expired = true
		second, err := clock.ScheduleFunc(hourly{}, func() {}, nil)
		require.NoError(t, err)
		require.NoError(t, (*lookTask)(clock).Run(nil))
		looked(t, clock)
		assert.Equal(t, delay-10*time.Minute, first.timeout.(*idleTimeout).delay)
		assert.Equal(t, delay-10*time.Minute, second.timeout.(*idleTimeout).delay)
		first.Stop()
		second.Stop()
	})
}

// TestWallClockIsNotPolledInABubble counts the timeouts of a wall-clock job.
func TestWallClockIsNotPolledInABubble(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c := newIdleClock(t)
		j, err := c.ScheduleFunc(hourly{}, func() {}, nil)
		require.NoError(t, err)
		assert.Nil(t, c.wall.timeout)
		j.Stop()
	})
}

// The timeout of a poll is passed to End.
func TestWallClockPollEndsWithItsClock(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c, _ := steppedClock(t)
		c.wall.off = false
		other, _ := steppedClock(t)
		job, err := c.ScheduleFunc(hourly{}, func() {}, nil)
		require.NoError(t, err)
		unprocessed := c.timer.(hwt.Engine).Stop()
		assert.Len(t, other.End(unprocessed), 2)
		assert.Empty(t, c.End(unprocessed))
		job.Wait()
	})
}
