package clock

import (
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
	return c, func(d time.Duration) { c.ahead.Store(int64(d)) }
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

// TestJobFollowsTheWallClock sets the wall clock of a job that would run in an hour or
// less.
func TestJobFollowsTheWallClock(t *testing.T) {
	for name, c := range map[string]struct {
		step  time.Duration
		next  time.Duration // Change of the job's next time.
		armed time.Duration // Change of its timeout's delay.
	}{
		"slewed":         {leastStep / 2, 0, 0},
		"forward":        {10 * time.Minute, 0, -10 * time.Minute},
		"back":           {-2 * time.Hour, 0, 2 * time.Hour},
		"back in a year": {-24 * 365 * time.Hour, -24 * 365 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				clock := newIdleClock(t)
				clock.wall.off = false
				j, err := clock.ScheduleFunc(hourly{}, func() { assert.Fail(t, "ran") }, nil)
				require.NoError(t, err)
				next, delay := j.Next(), j.timeout.(*idleTimeout).delay
				clock.ahead.Store(int64(c.step))
				looked(t, clock)
				assert.Equal(t, c.next, j.Next().Sub(next))
				assert.Equal(t, c.armed, j.timeout.(*idleTimeout).delay-delay)
				looked(t, clock)
				assert.Equal(t, c.next, j.Next().Sub(next))
				j.Stop()
				j.Wait()
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
