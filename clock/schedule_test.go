package clock_test

import (
	"sync/atomic"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestFixedRateKeepsItsPhase(t *testing.T) {
	onSchedule(t, func(t *testing.T, timer hwt.Engine, c *clock.Clock, begins *list[int], record func()) {
		start := time.Now()
		job := newJob(t, c, clock.FixedRate(2*unit), func() {
			assert.Less(t, time.Since(start)%(2*unit), slop)
			record()
		})
		assert.Equal(t, 2*unit, job.Next().Sub(start))
		pass(7 * unit)
		assert.Equal(t, []int{2, 4, 6}, begins.take())
		assert.True(t, job.Stop())
		assert.False(t, job.Stop())
		assert.True(t, job.Next().IsZero())
		assert.Zero(t, timer.Pending())
		job.Wait()
		pass(10 * unit)
		assert.Empty(t, begins.take())
	})
}

func TestFixedRateStartsAfterOnePeriod(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		made := time.Now()
		rate := clock.FixedRate(2 * unit)
		for asked, want := range map[time.Duration]time.Duration{
			-7 * unit: 2, -1: 2, 0: 2, unit: 2, 2*unit - 1: 2, 2 * unit: 4, 5 * unit: 6,
		} {
			assert.Equal(t, want*unit, rate.Next(made.Add(asked)).Sub(made), asked)
		}
	})
}

// TestSpecJobKeepsItsTimesWhenClocksChange runs over the days around 2 April 2000,
// when New York's clocks were set forward, and 29 October, when they were set back.
func TestSpecJobKeepsItsTimesWhenClocksChange(t *testing.T) {
	for _, text := range []string{"30 1 * * *", "30 2 * * *", "0 * * * *", "REPEAT 30 1 * * *"} {
		for _, day := range []time.Time{time.Date(2000, 3, 31, 0, 0, 0, 0, time.UTC), time.Date(2000, 10, 27, 0, 0, 0, 0, time.UTC)} {
			onEngines(t, func(t *testing.T, timer hwt.Engine) {
				spec := newSpec(t, "CRON_TZ=America/New_York "+text)
				time.Sleep(time.Until(day))
				var want []time.Time
				for next := spec.Next(time.Now()); next.Sub(day) < 96*time.Hour; next = spec.Next(next) {
					want = append(want, next.UTC())
				}
				var got list[time.Time]
				job := newJob(t, newClock(t, timer), spec, func() { got.add(time.Now().Truncate(slop).UTC()) })
				pass(96*time.Hour - unit)
				job.Stop()
				job.Wait()
				assert.GreaterOrEqual(t, len(want), 4)
				assert.Equal(t, want, got.take())
			})
		}
	}
}

func TestFixedDelayBeginsAtTheEndOfTheRun(t *testing.T) {
	onSchedule(t, func(t *testing.T, _ hwt.Engine, c *clock.Clock, begins *list[int], record func()) {
		job := newJobWith(t, c, clock.OverlapParallel, clock.FixedDelay(2*unit+unit/2), func() {
			record()
			time.Sleep(3 * unit)
		})
		pass(3 * unit)
		assert.True(t, job.Next().IsZero(), "unknown during the run")
		pass(11 * unit)
		assert.Equal(t, []int{2, 8, 13}, begins.take())
		job.Stop()
		job.Wait()
	})
}

// every is a schedule relative to the argument of Next, like cron's "@every".
type every time.Duration

func (e every) Next(t time.Time) time.Time { return t.Add(time.Duration(e)) }

func TestRelativeScheduleDoesNotDrift(t *testing.T) {
	const period = unit + tick/2 // so that every other run is half a tick late
	for name, schedule := range map[string]clock.Schedule{
		"plain": every(period), "with jitter": clock.Jitter(every(period), unit/2),
	} {
		t.Run(name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, timer hwt.Engine) {
				start := time.Now()
				runs := 0
				job := newJob(t, newClock(t, timer), schedule, func() {
					runs++
					late := time.Since(start) - time.Duration(runs)*period
					assert.GreaterOrEqual(t, late, time.Duration(0))
					assert.Less(t, late, unit/2+slop)
				})
				pass(100*period + unit - slop)
				job.Stop()
				job.Wait()
				assert.Equal(t, 100, runs)
			})
		})
	}
}

func TestMissedRunsAreNotMadeUpFor(t *testing.T) {
	for name, c := range map[string]struct {
		schedule func() clock.Schedule
		begins   []int
	}{
		"relative":    {func() clock.Schedule { return every(unit) }, []int{3, 4, 5}},
		"fixed rate":  {func() clock.Schedule { return clock.FixedRate(unit) }, []int{3, 4, 5}},
		"with jitter": {func() clock.Schedule { return clock.Jitter(clock.FixedRate(unit), 1) }, []int{3, 4, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, timer hwt.Engine) {
				start := time.Now()
				var begins list[int]
				held := &holding{Timer: timer}
				job := newJob(t, newClock(t, held), c.schedule(), func() { begins.add(units(start)) })
				held.hold()
				pass(3*unit + unit/2)
				held.release()
				pass(2*unit + unit/2 - slop)
				job.Stop()
				job.Wait()
				assert.Equal(t, c.begins, begins.take())
			})
		})
	}
}

// stuck is a schedule that returns one time until that has passed long ago.
type stuck struct{ at, until time.Time }

func (s stuck) Next(t time.Time) time.Time {
	if t.After(s.until) {
		return time.Time{}
	}
	return s.at
}

// TestScheduleOfThePastDoesNotSpin counts the runs of a schedule whose times
// are not after its arguments.
func TestScheduleOfThePastDoesNotSpin(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		var errs list[error]
		c := newClockWith(t, timer, clock.Options{ErrorHandler: errs.add})
		start := time.Now()
		for name, past := range map[string]time.Time{"present": start, "past": start.Add(-time.Hour), "": time.Unix(-62e9, 0)} {
			var runs list[int]
			begin := time.Now()
			job, err := c.ScheduleFunc(stuck{past, begin.Add(unit)}, func() { runs.add(1) }, &clock.JobOptions{Name: name})
			require.NoError(t, err)
			job.Wait()
			assert.Less(t, time.Since(begin), unit+slop)
			n := len(runs.take())
			assert.Greater(t, n, 10, "it continues to run")
			assert.LessOrEqual(t, n, int(unit/time.Millisecond)+2, "it runs once per tick")
			failed := errs.take()
			require.Len(t, failed, 1, "the handler is called once")
			prefix := "clock: job"
			if name != "" {
				prefix += " \"" + name + "\""
			}
			assert.Regexp(t, "^"+prefix+": schedule clock_test.stuck returned", failed[0].Error())
		}
		assert.Zero(t, timer.Pending())
	})
}

// present is a schedule whose times have passed when a job looks at them. n counts them.
type present struct{ n atomic.Int64 }

func (p *present) Next(time.Time) time.Time {
	p.n.Add(1)
	return time.Now()
}

// The real clock moves while Next runs. A bubble's does not.
func TestScheduleOfThePresentDoesNotSpin(t *testing.T) {
	timer, err := runtimetimer.New(nil)
	require.NoError(t, err)
	defer timer.Stop()
	var errs list[error]
	c := newClockWith(t, timer, clock.Options{ErrorHandler: errs.add})
	schedule, began := new(present), time.Now()
	job := newJob(t, c, schedule, func() {})
	require.Eventually(t, func() bool { return schedule.n.Load() >= 100 }, 20*time.Second, time.Millisecond)
	job.Stop()
	job.Wait()
	assert.LessOrEqual(t, schedule.n.Load(), 2+2*int64(time.Since(began)/time.Millisecond), "two calls for each run")
	failed := errs.take()
	require.Len(t, failed, 1, "it is reported once")
	assert.ErrorContains(t, failed[0], "clock: job: schedule *clock_test.present returned")
}

func TestJitterDelaysByLessThanItsLimit(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		start := time.Now()
		offsets := map[time.Duration]bool{}
		job := newJob(t, newClock(t, timer), clock.Jitter(clock.FixedRate(unit), unit/2), func() {
			offset := time.Since(start) % unit
			assert.Less(t, offset, unit/2+slop)
			offsets[offset/slop] = true
		})
		pass(200*unit + unit - slop)
		job.Stop()
		job.Wait()
		assert.Greater(t, len(offsets), 1)
		assert.Equal(t, 200, units(start))
	})
}

func TestJitterReplacesThatOfASpec(t *testing.T) {
	spec, err := clock.ParseSpec("JITTER=59s * * * * *")
	require.NoError(t, err)
	start := time.Now()
	assert.Equal(t, spec.Next(start), clock.Jitter(spec, 1).Next(start))
}

func TestFixedDelayWithJitterIsAFixedDelay(t *testing.T) {
	onSchedule(t, func(t *testing.T, _ hwt.Engine, c *clock.Clock, begins *list[int], record func()) {
		job := newJob(t, c, clock.Jitter(clock.FixedDelay(unit), 1), func() {
			record()
			time.Sleep(unit + unit/2 + slop)
		})
		pass(7 * unit)
		job.Stop()
		job.Wait()
		assert.Equal(t, []int{1, 3, 6}, begins.take())
		assert.Zero(t, job.Status().Skipped)
	})
}

// logged is a schedule that wraps another, and forwards its AfterRun.
type logged struct{ clock.Schedule }

func (l logged) AfterRun() bool {
	after, ok := l.Schedule.(clock.AfterRunSchedule)
	return ok && after.AfterRun()
}

func TestWrappedFixedDelayIsAFixedDelay(t *testing.T) {
	onSchedule(t, func(t *testing.T, _ hwt.Engine, c *clock.Clock, begins *list[int], record func()) {
		job := newJob(t, c, logged{clock.FixedDelay(unit)}, func() {
			record()
			time.Sleep(unit + unit/2 + slop)
		})
		pass(7 * unit)
		job.Stop()
		job.Wait()
		assert.Equal(t, []int{1, 3, 6}, begins.take())
		assert.Zero(t, job.Status().Skipped)
	})
}

// The schedule counts from the argument of Next, so an inner delay would add up.
func TestOuterJitterReplacesTheInnerOne(t *testing.T) {
	start := time.Now()
	nested := clock.Jitter(clock.Jitter(every(unit), time.Hour), 1)
	for range 20 {
		assert.Equal(t, start.Add(unit), nested.Next(start))
	}
}
