package clock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// names returns the names of the clock's jobs.
func names(c *clock.Clock) (all []string) {
	for _, job := range c.Jobs() {
		all = append(all, job.Status().Name)
	}
	return all
}

func TestJobsAreFoundByNameUntilTheyEnd(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		c := newClock(t, timer)
		named := func(name string, schedule clock.Schedule) (*clock.Job, error) {
			return c.ScheduleFunc(schedule, func() { time.Sleep(unit) }, &clock.JobOptions{Name: name})
		}
		b, err := named("b", clock.FixedRate(unit))
		require.NoError(t, err)
		a, err := named("a", at{time.Now(), []time.Duration{unit}})
		require.NoError(t, err)
		unnamed := newJob(t, c, clock.FixedRate(unit), func() {})
		assert.Equal(t, []string{"a", "b"}, names(c))
		assert.Same(t, b, c.Job("b"))
		assert.Nil(t, c.Job("c"))
		assert.Nil(t, c.Job(""))

		_, err = named("a", clock.FixedRate(unit))
		assert.EqualError(t, err, `clock: JobOptions.Name: "a" (expected: a name that no other job of the clock has)`)
		pass(unit + slop)
		assert.True(t, b.Stop())
		assert.Equal(t, []string{"a", "b"}, names(c), "their runs are under way")
		b.Wait()
		a.Wait()
		assert.Empty(t, names(c))
		a, err = named("a", clock.FixedRate(unit))
		require.NoError(t, err)
		a.Stop()
		unnamed.Stop()
		assert.Empty(t, names(c))
	})
}

func TestStatus(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		c := newClockWith(t, timer, clock.Options{ErrorHandler: func(error) {}})
		start := time.Now()
		fail := errors.New("failed")
		job, err := c.ScheduleContext(clock.FixedRate(2*unit), func(context.Context) error {
			time.Sleep(unit)
			if units(start) > 4 {
				return nil
			}
			return fail
		}, &clock.JobOptions{Name: "job"})
		require.NoError(t, err)
		assert.Equal(t, clock.JobStatus{Name: "job", Next: start.Add(2 * unit)}, job.Status())
		pass(2*unit + unit/2)
		status := job.Status()
		assert.Equal(t, 2, int(status.LastRun.Sub(start)/unit))
		status.LastRun = time.Time{}
		assert.Equal(t, clock.JobStatus{Name: "job", Next: start.Add(4 * unit), Running: 1}, status)
		pass(unit)
		status = job.Status()
		assert.Equal(t, fail, status.LastError)
		assert.Zero(t, status.Running)
		assert.EqualValues(t, 1, status.Runs)
		pass(2 * unit)
		assert.NoError(t, job.Status().LastError)
		assert.True(t, job.Pause())
		assert.True(t, job.Status().Paused)
		assert.True(t, job.Status().Next.IsZero())
		job.Stop()
		job.Wait()
		assert.EqualValues(t, 2, job.Status().Runs)
	})
}

func TestResumedJobKeepsTheTimesOfItsSchedule(t *testing.T) {
	for name, schedule := range map[string]func() clock.Schedule{
		"rate":  func() clock.Schedule { return clock.FixedRate(2 * unit) },
		"delay": func() clock.Schedule { return clock.FixedDelay(2 * unit) },
	} {
		t.Run(name, func(t *testing.T) {
			onSchedule(t, func(t *testing.T, timer hwt.Engine, c *clock.Clock, begins *list[int], record func()) {
				job := newJob(t, c, schedule(), record)
				assert.False(t, job.Resume(), "it is not paused")
				pass(2*unit + slop)
				assert.True(t, job.Pause())
				assert.False(t, job.Pause())
				assert.Zero(t, timer.Pending())
				pass(7*unit - slop)
				assert.Equal(t, []int{2}, begins.take())
				assert.True(t, job.Resume())
				assert.False(t, job.Resume())
				assert.False(t, job.Next().IsZero())
				pass(2*unit + slop)
				assert.True(t, job.Stop())
				assert.False(t, job.Pause())
				assert.False(t, job.Resume())
				job.Wait()
				want := map[string][]int{"rate": {10}, "delay": {11}}
				assert.Equal(t, want[name], begins.take())
			})
		})
	}
}

func TestPauseDuringARun(t *testing.T) {
	for _, schedule := range []clock.Schedule{every(2 * unit), clock.FixedDelay(2 * unit)} {
		onSchedule(t, func(t *testing.T, timer hwt.Engine, c *clock.Clock, begins *list[int], record func()) {
			job := newJob(t, c, schedule, func() {
				record()
				time.Sleep(unit)
			})
			pass(2*unit + unit/2)
			job.Pause()
			job.Resume()
			job.Pause()
			pass(4 * unit)
			assert.Equal(t, []int{2}, begins.take())
			assert.Zero(t, timer.Pending())
			job.Resume() // At 6.5.
			pass(3 * unit)
			job.Stop()
			job.Wait()
			assert.Equal(t, []int{8}, begins.take())
		})
	}
}

// A scheduled run and one of RunNow both wait for the end of another run.
func TestPauseKeepsARequestedRun(t *testing.T) {
	onSchedule(t, func(t *testing.T, _ hwt.Engine, c *clock.Clock, begins *list[int], record func()) {
		job := newJobWith(t, c, clock.OverlapQueueOne, clock.FixedRate(unit), func() {
			record()
			time.Sleep(2*unit + unit/2)
		})
		pass(2*unit + unit/4) // The first run is under way, and the second waits.
		assert.True(t, job.RunNow())
		assert.False(t, job.RunNow(), "one waits")
		job.Pause()
		pass(6 * unit)
		assert.Equal(t, []int{1, 3}, begins.take())
		assert.True(t, job.RunNow(), "it is paused")
		pass(slop)
		assert.True(t, job.RunNow())
		assert.True(t, job.Stop(), "a requested run waits")
		job.Wait()
		assert.Equal(t, []int{8}, begins.take())
		assert.False(t, job.RunNow())
	})
}

func TestRunNowFollowsOverlap(t *testing.T) {
	for overlap, want := range map[clock.Overlap]struct {
		answers []bool
		begins  []int
		skipped int64
	}{
		clock.OverlapSkip:     {[]bool{true, false, false}, []int{0}, 2},
		clock.OverlapQueueOne: {[]bool{true, true, false}, []int{0, 1}, 1},
		clock.OverlapParallel: {[]bool{true, true, true}, []int{0, 0, 0}, 0},
	} {
		onSchedule(t, func(t *testing.T, _ hwt.Engine, c *clock.Clock, begins *list[int], record func()) {
			job := newJobWith(t, c, overlap, at{time.Now(), []time.Duration{9 * unit}}, func() {
				record()
				time.Sleep(unit)
			})
			var answers []bool
			for range 3 {
				answers = append(answers, job.RunNow())
			}
			assert.Equal(t, want.answers, answers)
			pass(3 * unit)
			assert.Equal(t, want.begins, begins.take())
			assert.Equal(t, want.skipped, job.Status().Skipped)
			job.Wait()
			assert.Equal(t, []int{9}, begins.take())
			assert.False(t, job.RunNow(), "the schedule has ended")
		})
	}
}

func TestStopEndsTheContextOfTheRun(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		var errs list[error]
		c := newClockWith(t, timer, clock.Options{ErrorHandler: errs.add})
		fail := errors.New("failed")
		runs := 0
		job, err := c.ScheduleContext(clock.FixedRate(unit), func(ctx context.Context) error {
			if runs++; runs == 1 {
				return fail
			}
			<-ctx.Done()
			return ctx.Err()
		}, nil)
		require.NoError(t, err)
		pass(2*unit + slop)
		failed := errs.take()
		require.Len(t, failed, 1)
		assert.ErrorIs(t, failed[0], fail)
		assert.EqualValues(t, 1, c.Stats().Failures)
		assert.True(t, job.Stop())
		job.Wait()
		assert.Empty(t, errs.take(), "a canceled run is not a failure")
		assert.NoError(t, job.Status().LastError)
	})
}

func TestStopJobsLetsRunsFinishUntilItsContextEnds(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		c := newClock(t, timer)
		var ended, ran atomic.Int64
		add := func(name string, work time.Duration) *clock.Job {
			job, err := c.ScheduleContext(clock.FixedRate(unit), func(ctx context.Context) error {
				ran.Add(1)
				select {
				case <-time.After(work):
				case <-ctx.Done():
					ended.Add(1)
				}
				return nil
			}, &clock.JobOptions{Name: name, Overlap: clock.OverlapQueueOne})
			require.NoError(t, err)
			return job
		}
		assert.NoError(t, c.StopJobs(t.Context()))
		short := add("short", 3*unit)
		pass(2*unit + slop) // the next run waits for the first
		begin := time.Now()
		assert.NoError(t, c.StopJobs(t.Context()))
		assert.Greater(t, time.Since(begin), unit)
		assert.EqualValues(t, 1, short.Status().Runs)
		assert.Equal(t, [2]int64{1, 0}, [2]int64{ran.Load(), ended.Load()})

		long := add("long", 1000*unit)
		pass(unit + slop)
		ctx, cancel := context.WithTimeout(t.Context(), unit)
		defer cancel()
		assert.ErrorIs(t, c.StopJobs(ctx), context.DeadlineExceeded)
		long.Wait()
		assert.EqualValues(t, 1, ended.Load())
	})
}

func TestEndEndsTheContextOfTheRun(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t)
		c := newClock(t, timer)
		job, err := c.ScheduleContext(clock.FixedRate(unit), func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, nil)
		require.NoError(t, err)
		pass(unit + slop)
		assert.Empty(t, c.End(timer.Stop()))
		job.Wait()
	})
}

func TestBadJobsAreErrors(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c := newClock(t, newTimer(t))
		f := func(context.Context) error { return nil }
		_, err := c.ScheduleContext(nil, f, nil)
		assert.EqualError(t, err, "clock: ScheduleContext: schedule is nil (expected: a Schedule)")
		_, err = c.ScheduleContext(every(unit), nil, nil)
		assert.EqualError(t, err, "clock: ScheduleContext: f is nil (expected: a function)")
		_, err = c.ScheduleContext(every(unit), f, &clock.JobOptions{Missed: clock.Missed{MaxRuns: -1}})
		assert.EqualError(t, err, "clock: Missed.MaxRuns: -1 (expected: 0 for the default, or 1 to 10000)")
	})
}
