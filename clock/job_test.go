package clock_test

import (
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // some machines have none

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/timertest"
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

// onSchedule tells f how to record in which unit a run begins.
func onSchedule(t *testing.T, f func(t *testing.T, timer engine, c *clock.Clock, begins *list[int], record func())) {
	onEngines(t, func(t *testing.T, timer engine) {
		start := time.Now()
		var begins list[int]
		f(t, timer, clock.New(timer), &begins, func() { begins.add(units(start)) })
	})
}

func TestAFixedRateKeepsItsPhase(t *testing.T) {
	onSchedule(t, func(t *testing.T, timer engine, c *clock.Clock, begins *list[int], record func()) {
		start := time.Now()
		job := c.ScheduleFunc(clock.FixedRate(2*unit), func() {
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

func TestAFixedRateBeginsOnePeriodAfterItIsMade(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		made := time.Now()
		rate := clock.FixedRate(2 * unit)
		for asked, want := range map[time.Duration]time.Duration{
			-7 * unit: 2, -1: 2, 0: 2, unit: 2, 2*unit - 1: 2, 2 * unit: 4, 5 * unit: 6,
		} {
			assert.Equal(t, want*unit, rate.Next(made.Add(asked)).Sub(made), asked)
		}
	})
}

// TestAJobOfCronsKeepsItsTimesWhereClocksChange has the last days before and after
// New York's clocks are set forward, on 2 April 2000, and back, on 29 October.
func TestAJobOfCronsKeepsItsTimesWhereClocksChange(t *testing.T) {
	for _, spec := range []string{"30 1 * * *", "30 2 * * *", "0 * * * *"} {
		for _, day := range []time.Time{time.Date(2000, 3, 31, 0, 0, 0, 0, time.UTC), time.Date(2000, 10, 27, 0, 0, 0, 0, time.UTC)} {
			onEngines(t, func(t *testing.T, timer engine) {
				schedule, err := cron.ParseStandard("CRON_TZ=America/New_York " + spec)
				require.NoError(t, err)
				time.Sleep(time.Until(day))
				var want []time.Time
				for next := schedule.Next(time.Now()); next.Sub(day) < 96*time.Hour; next = schedule.Next(next) {
					want = append(want, next.UTC())
				}
				var got list[time.Time]
				job := clock.New(timer).ScheduleFunc(schedule, func() { got.add(time.Now().Truncate(slop).UTC()) })
				pass(96*time.Hour - unit)
				job.Stop()
				job.Wait()
				assert.GreaterOrEqual(t, len(want), 3)
				assert.Equal(t, want, got.take())
			})
		}
	}
}

func TestAFixedDelayBeginsAtTheEndOfTheRun(t *testing.T) {
	onSchedule(t, func(t *testing.T, _ engine, c *clock.Clock, begins *list[int], record func()) {
		job := c.ScheduleFunc(clock.FixedDelay(2*unit+unit/2), func() {
			record()
			time.Sleep(3 * unit)
		}, clock.Parallel) // which never comes to bear
		pass(3 * unit)
		assert.True(t, job.Next().IsZero(), "not known while it runs")
		pass(11 * unit)
		assert.Equal(t, []int{2, 8, 13}, begins.take())
		job.Stop()
		job.Wait()
	})
}

func TestOverlap(t *testing.T) {
	for name, c := range map[string]struct {
		overlap []clock.Overlap
		begins  []int
		skipped int64
	}{
		"default":  {nil, []int{1, 4, 7}, 4},
		"skip":     {[]clock.Overlap{clock.Skip}, []int{1, 4, 7}, 4},
		"queue":    {[]clock.Overlap{clock.QueueOne}, []int{1, 3, 6, 8}, 3},
		"parallel": {[]clock.Overlap{clock.Parallel}, []int{1, 2, 3, 4, 5, 6, 7}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onSchedule(t, func(t *testing.T, _ engine, on *clock.Clock, begins *list[int], record func()) {
				times := []time.Duration{unit, 2 * unit, 3 * unit, 4 * unit, 5 * unit, 6 * unit, 7 * unit}
				job := on.ScheduleFunc(at{time.Now(), times}, func() {
					record()
					time.Sleep(2*unit + unit/2 + slop)
				}, c.overlap...)
				job.Wait()
				assert.Equal(t, c.begins, begins.take())
				assert.Equal(t, c.skipped, job.Skipped())
				assert.False(t, job.Stop(), "the schedule had ended")
			})
		})
	}
}

func TestAZeroTimeEndsTheJob(t *testing.T) {
	onSchedule(t, func(t *testing.T, timer engine, c *clock.Clock, begins *list[int], record func()) {
		c.ScheduleFunc(at{}, record).Wait()
		job := c.ScheduleFunc(clock.Jitter(at{time.Now(), []time.Duration{unit, 3 * unit}}, unit/2), record)
		job.Wait()
		assert.Equal(t, []int{1, 3}, begins.take())
		assert.Zero(t, timer.Pending())
	})
}

// answers is a schedule that gives its answers whatever it is asked.
type answers struct{ left []time.Time }

func (a *answers) Next(time.Time) (next time.Time) {
	if len(a.left) > 0 {
		next, a.left = a.left[0], a.left[1:]
	}
	return next
}

func TestATimeThatHasPassedIsDueAtOnce(t *testing.T) {
	onSchedule(t, func(t *testing.T, timer engine, c *clock.Clock, begins *list[int], record func()) {
		now := time.Now()
		past := []time.Time{now, now, now.Add(-unit), time.Unix(1, 0), now.Add(unit), now.Add(unit)}
		c.ScheduleFunc(&answers{past}, record, clock.Parallel).Wait()
		assert.Equal(t, []int{0, 0, 0, 0, 1, 1}, begins.take())
		assert.Zero(t, timer.Pending())
	})
}

func TestStopDropsWhatIsQueuedAndWaitWaitsForWhatRuns(t *testing.T) {
	onSchedule(t, func(t *testing.T, _ engine, c *clock.Clock, begins *list[int], record func()) {
		start := time.Now()
		job := c.ScheduleFunc(clock.FixedRate(unit), func() {
			record()
			time.Sleep(3*unit + unit/2)
		}, clock.QueueOne)
		pass(3 * unit)
		assert.True(t, job.Stop())
		job.Wait()
		assert.Equal(t, 4, units(start), "the run had ended")
		assert.Equal(t, []int{1}, begins.take())
	})
}

func TestStopAfterTheScheduleEndedDropsWhatIsQueued(t *testing.T) {
	onSchedule(t, func(t *testing.T, _ engine, c *clock.Clock, begins *list[int], record func()) {
		job := c.ScheduleFunc(at{time.Now(), []time.Duration{unit, 2 * unit}}, func() {
			record()
			time.Sleep(3 * unit)
		}, clock.QueueOne)
		pass(3 * unit)
		assert.True(t, job.Stop())
		job.Wait()
		assert.Equal(t, []int{1}, begins.take())
	})
}

func TestAJobMayStopItself(t *testing.T) {
	onSchedule(t, func(t *testing.T, _ engine, c *clock.Clock, begins *list[int], record func()) {
		jobs := make(chan *clock.Job, 1)
		job := c.ScheduleFunc(clock.FixedRate(unit), func() {
			record()
			(<-jobs).Stop()
		})
		jobs <- job
		job.Wait()
		assert.Equal(t, []int{1}, begins.take())
	})
}

func TestJitterPutsOffByLessThanItsMost(t *testing.T) {
	onEngines(t, func(t *testing.T, timer engine) {
		start := time.Now()
		offsets := map[time.Duration]bool{}
		job := clock.New(timer).ScheduleFunc(clock.Jitter(clock.FixedRate(unit), unit/2), func() {
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

func TestAJitteredFixedDelayIsAFixedDelay(t *testing.T) {
	onSchedule(t, func(t *testing.T, _ engine, c *clock.Clock, begins *list[int], record func()) {
		job := c.ScheduleFunc(clock.Jitter(clock.FixedDelay(unit), 1), func() {
			record()
			time.Sleep(unit + unit/2 + slop)
		})
		pass(7 * unit)
		job.Stop()
		job.Wait()
		assert.Equal(t, []int{1, 3, 6}, begins.take())
		assert.Zero(t, job.Skipped())
	})
}

// broken is a schedule that does what it is told to at its second time.
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

func TestWhatFailsIsReportedAndHarmsNothingElse(t *testing.T) {
	for name, fail := range map[string]func(){
		"panic":  func() { panic("no good") },
		"goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, timer engine) {
				var errs list[error]
				c := clock.New(timer, clock.WithErrorHandler(errs.add))
				calls := 0
				job := c.ScheduleFunc(clock.FixedRate(unit), func() { calls++; fail() })
				pass(3*unit + slop)
				assert.Equal(t, 3, calls, "a run that fails does not end the job")
				assert.Len(t, errs.take(), 3)
				job.Stop()
				job.Wait()
				runs := 0
				job = c.ScheduleFunc(&broken{how: fail}, func() { runs++ }) // a schedule that fails does
				job.Wait()
				assert.Len(t, errs.take(), 1)
				assert.Equal(t, 1, runs, "it was due when the schedule was asked for the next")
				assert.False(t, job.Stop())
				c.AfterFunc(unit, fail)
				pass(unit + slop)
				failed := errs.take()
				require.Len(t, failed, 1)
				_, panicked := errors.AsType[*hwt.PanicError](failed[0])
				assert.Equal(t, name == "panic", panicked)
			})
		})
	}
}

func TestArgumentsThatCannotBeMeantPanic(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		c := clock.New(newTimer(t))
		for name, f := range map[string]func(){
			"timer":      func() { clock.New(nil) },
			"nil engine": func() { clock.New((*hashedwheel.Timer)(nil)) },
			"AfterFunc":  func() { c.AfterFunc(unit, nil) },
			"schedule":   func() { c.ScheduleFunc(nil, func() {}) },
			"f":          func() { c.ScheduleFunc(clock.FixedRate(1), nil) },
			"FixedRate":  func() { clock.FixedRate(0) },
			"FixedDelay": func() { clock.FixedDelay(-1) },
			"overlap":    func() { c.ScheduleFunc(clock.FixedRate(1), func() {}, clock.Parallel+1) },
			"overlaps":   func() { c.ScheduleFunc(clock.FixedRate(1), func() {}, clock.Skip, clock.Skip) },
			"Jitter":     func() { clock.Jitter(clock.FixedRate(1), 0) },
		} {
			assert.Panics(t, f, name)
		}
		assert.NotPanics(t, func() { clock.New(newTimer(t), nil, clock.WithErrorHandler(nil)) })
		synctest.Wait()
	})
}

func TestStopComesBeforeARunThatIsDueButHasNotBegun(t *testing.T) {
	onEngines(t, func(t *testing.T, timer engine) {
		held := &holding{Timer: timer}
		job := clock.New(held).ScheduleFunc(clock.FixedRate(unit), func() { assert.Fail(t, "ran") })
		held.hold()
		pass(unit + slop)
		assert.True(t, job.Stop())
		job.Wait()
		held.release()
		pass(2 * unit)
		assert.Zero(t, timer.Pending())
	})
}

// pensive is a schedule that takes its time to answer.
type pensive struct{}

func (pensive) Next(t time.Time) time.Time {
	time.Sleep(unit)
	return t.Add(2 * unit)
}

func TestStopComesBeforeARunWhoseScheduleIsStillThinking(t *testing.T) {
	onEngines(t, func(t *testing.T, timer engine) {
		job := clock.New(timer).ScheduleFunc(pensive{}, func() { assert.Fail(t, "ran") })
		pass(unit + unit/2) // the first run came due, and the schedule is asked for the second
		assert.True(t, job.Stop())
		job.Wait()
		assert.Zero(t, timer.Pending())
	})
}
