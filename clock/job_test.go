package clock_test

import (
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// at is a schedule of given times after its start.
type at struct {
	start time.Time
	times []time.Duration
}

func (s at) Next(t time.Time) time.Time {
	for _, d := range s.times {
		if next := s.start.Add(d); next.After(t) {
			return next
		}
	}
	return time.Time{}
}

// units returns whole units since start.
func units(start time.Time) int { return int(time.Since(start) / unit) }

// newJob returns a job with the default options.
func newJob(t *testing.T, c *clock.Clock, schedule clock.Schedule, f func()) *clock.Job {
	t.Helper()
	return newJobWith(t, c, clock.OverlapSkip, schedule, f)
}

func newJobWith(t *testing.T, c *clock.Clock, overlap clock.Overlap, schedule clock.Schedule, f func()) *clock.Job {
	t.Helper()
	job, err := c.ScheduleFunc(schedule, f, &clock.JobOptions{Overlap: overlap})
	require.NoError(t, err)
	return job
}

// onSchedule runs f on every engine. record adds the present to begins, in units
// since the start.
func onSchedule(t *testing.T, f func(t *testing.T, timer hwt.Engine, c *clock.Clock, begins *list[int], record func())) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		start := time.Now()
		var begins list[int]
		f(t, timer, newClock(t, timer), &begins, func() { begins.add(units(start)) })
	})
}

func TestOverlap(t *testing.T) {
	for name, c := range map[string]struct {
		options *clock.JobOptions
		begins  []int
		skipped int64
	}{
		"default":   {nil, []int{1, 4, 7}, 4},
		"skip":      {&clock.JobOptions{Overlap: clock.OverlapSkip}, []int{1, 4, 7}, 4},
		"queue one": {&clock.JobOptions{Overlap: clock.OverlapQueueOne}, []int{1, 3, 6, 8}, 3},
		"parallel":  {&clock.JobOptions{Overlap: clock.OverlapParallel}, []int{1, 2, 3, 4, 5, 6, 7}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onSchedule(t, func(t *testing.T, _ hwt.Engine, on *clock.Clock, begins *list[int], record func()) {
				times := []time.Duration{unit, 2 * unit, 3 * unit, 4 * unit, 5 * unit, 6 * unit, 7 * unit}
				job, err := on.ScheduleFunc(at{time.Now(), times}, func() {
					record()
					time.Sleep(2*unit + unit/2 + slop)
				}, c.options)
				require.NoError(t, err)
				job.Wait()
				assert.Equal(t, c.begins, begins.take())
				assert.Equal(t, c.skipped, job.Status().Skipped)
				assert.False(t, job.Stop(), "the schedule had ended")
			})
		})
	}
}

func TestZeroTimeEndsTheJob(t *testing.T) {
	onSchedule(t, func(t *testing.T, timer hwt.Engine, c *clock.Clock, begins *list[int], record func()) {
		newJob(t, c, at{}, record).Wait()
		job := newJob(t, c, clock.Jitter(at{time.Now(), []time.Duration{unit, 3 * unit}}, unit/2), record)
		job.Wait()
		assert.Equal(t, []int{1, 3}, begins.take())
		assert.Zero(t, timer.Pending())
	})
}

// answers is a schedule that returns its answers whatever time it gets.
type answers struct{ left []time.Time }

func (a *answers) Next(time.Time) (next time.Time) {
	if len(a.left) > 0 {
		next, a.left = a.left[0], a.left[1:]
	}
	return next
}

func TestStopDiscardsTheQueuedRun(t *testing.T) {
	onSchedule(t, func(t *testing.T, _ hwt.Engine, c *clock.Clock, begins *list[int], record func()) {
		start := time.Now()
		job := newJobWith(t, c, clock.OverlapQueueOne, clock.FixedRate(unit), func() {
			record()
			time.Sleep(3*unit + unit/2)
		})
		pass(3 * unit)
		assert.True(t, job.Stop())
		job.Wait()
		assert.Equal(t, 4, units(start), "the run had ended")
		assert.Equal(t, []int{1}, begins.take())
	})
}

func TestStopAfterTheScheduleDiscardsTheQueuedRun(t *testing.T) {
	onSchedule(t, func(t *testing.T, _ hwt.Engine, c *clock.Clock, begins *list[int], record func()) {
		job := newJobWith(t, c, clock.OverlapQueueOne, at{time.Now(), []time.Duration{unit, 2 * unit}}, func() {
			record()
			time.Sleep(3 * unit)
		})
		pass(3 * unit)
		assert.True(t, job.Stop())
		job.Wait()
		assert.Equal(t, []int{1}, begins.take())
	})
}

func TestJobMayStopItself(t *testing.T) {
	onSchedule(t, func(t *testing.T, _ hwt.Engine, c *clock.Clock, begins *list[int], record func()) {
		jobs := make(chan *clock.Job, 1)
		job := newJob(t, c, clock.FixedRate(unit), func() {
			record()
			(<-jobs).Stop()
		})
		jobs <- job
		job.Wait()
		assert.Equal(t, []int{1}, begins.take())
	})
}

// broken is a schedule that calls how at its second time.
type broken struct {
	calls int
	how   func()
}

func (s *broken) Next(t time.Time) time.Time {
	if s.calls++; s.calls == 2 {
		s.how()
	}
	return t.Add(unit)
}

func TestFailuresAreReported(t *testing.T) {
	for name, fail := range map[string]func(){
		"panic":  func() { panic("no good") },
		"goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, timer hwt.Engine) {
				var errs list[error]
				c := newClockWith(t, timer, clock.Options{ErrorHandler: errs.add})
				calls := 0
				job := newJob(t, c, clock.FixedRate(unit), func() { calls++; fail() })
				pass(3*unit + slop)
				assert.Equal(t, 3, calls, "a run that fails does not end the job")
				assert.Len(t, errs.take(), 3)
				job.Stop()
				job.Wait()
				runs := 0
				job = newJob(t, c, &broken{how: fail}, func() { runs++ }) // a schedule that fails ends it
				job.Wait()
				assert.Len(t, errs.take(), 1)
				assert.Equal(t, 1, runs, "the run was due when Next failed")
				assert.False(t, job.Stop())
				c.AfterFunc(unit, fail)
				pass(unit + slop)
				failed := errs.take()
				require.Len(t, failed, 1)
				panicked := errors.As(failed[0], new(*hwt.PanicError))
				assert.Equal(t, name == "panic", panicked)
			})
		})
	}
}

func TestErrorHandlerThatExitsEndsNoJob(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		c := newClockWith(t, timer, clock.Options{
			ErrorHandler: func(error) { runtime.Goexit() },
			Logger:       slog.New(slog.DiscardHandler),
		})
		for _, schedule := range []clock.Schedule{clock.FixedRate(unit), clock.FixedDelay(unit)} {
			calls := 0
			job := newJob(t, c, schedule, func() { calls++; panic("no good") })
			pass(3*unit + slop)
			job.Stop()
			job.Wait()
			assert.Equal(t, 3, calls)
		}
		var calls atomic.Int64
		go c.ScheduleFunc(stuck{time.Now(), time.Now().Add(unit)}, func() { calls.Add(1) }, &clock.JobOptions{Name: "stuck"})
		synctest.Wait()
		assert.NotNil(t, c.Job("stuck"), "the handler was called for its first time")
		pass(2 * unit)
		assert.Nil(t, c.Job("stuck"), "its schedule has ended")
		assert.Greater(t, calls.Load(), int64(10))
	})
}

func TestBadArgumentsPanic(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c := newClock(t, newTimer(t))
		for message, f := range map[string]func(){
			"clock: AfterFunc: f is nil (expected: a function)":                func() { c.AfterFunc(unit, nil) },
			"clock: FixedRate: period is 0s (expected: a positive duration)":   func() { clock.FixedRate(0) },
			"clock: FixedDelay: delay is -1ns (expected: a positive duration)": func() { clock.FixedDelay(-1) },
			"clock: Jitter: limit is 0s (expected: a positive duration)":       func() { clock.Jitter(every(1), 0) },
			"clock: Jitter: schedule is nil (expected: a Schedule)":            func() { clock.Jitter(nil, 1) },
			"clock: Jitter: schedule is nil (expected: a Schedule) ":           func() { clock.Jitter((*answers)(nil), 1) },
		} {
			assert.PanicsWithValue(t, strings.TrimSpace(message), f)
		}
	})
}

func TestBadArgumentsAreErrors(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		for _, timer := range []hwt.Timer{nil, (*hashedwheel.Timer)(nil)} {
			c, err := clock.New(timer, nil)
			assert.EqualError(t, err, "clock: New: timer is nil (expected: an hwt.Timer)")
			assert.Nil(t, c)
		}
		c, err := clock.New(newTimer(t), nil)
		require.NoError(t, err)
		f := func() { assert.Fail(t, "ran") }
		for _, schedule := range []clock.Schedule{nil, (*answers)(nil)} {
			job, err := c.ScheduleFunc(schedule, f, nil)
			assert.EqualError(t, err, "clock: ScheduleFunc: schedule is nil (expected: a Schedule)")
			assert.Nil(t, job)
		}
		_, err = c.ScheduleFunc(every(1), nil, nil)
		assert.EqualError(t, err, "clock: ScheduleFunc: f is nil (expected: a function)")
		_, err = c.ScheduleFunc(every(1), f, &clock.JobOptions{Overlap: clock.OverlapParallel + 1})
		assert.EqualError(t, err, "clock: JobOptions.Overlap: 3 (expected: OverlapSkip, OverlapQueueOne or OverlapParallel)")
		pass(unit)
	})
}

func TestStopPreventsARunBeforeItsTask(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		held := &holding{Timer: timer}
		job := newJob(t, newClock(t, held), clock.FixedRate(unit), func() { assert.Fail(t, "ran") })
		held.hold()
		pass(unit + slop)
		assert.True(t, job.Stop())
		job.Wait()
		held.release()
		pass(2 * unit)
		assert.Zero(t, timer.Pending())
	})
}

// slow is a schedule whose Next takes a unit.
type slow struct{}

func (slow) Next(t time.Time) time.Time {
	time.Sleep(unit)
	return t.Add(2 * unit)
}

func TestStopPreventsARunDuringACallOfNext(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		job := newJob(t, newClock(t, timer), slow{}, func() { assert.Fail(t, "ran") })
		pass(unit + unit/2) // the first run is due, and Next is called for the second
		assert.True(t, job.Stop())
		job.Wait()
		assert.Zero(t, timer.Pending())
	})
}
