package clock

import (
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/check"
)

// Schedule determines the times at which a [Job] runs. [Spec], [FixedRate] and
// [FixedDelay] implement it, and so does every schedule of github.com/robfig/cron/v3.
// [Jitter] spreads the times.
type Schedule interface {
	// Next returns the first time after t. Next returns the zero time if the schedule has no
	// later time, which ends the job. If Next returns a time that is not after t, or that has
	// already passed, the job runs after at least one millisecond. A time that is not after t
	// is reported once, and so are ten passed times in succession.
	//
	// A job first calls Next with the current time, and then, at each run, with the due
	// time of that run, so that a late run does not delay the next ones. If the result
	// has passed, runs were missed; the job then calls Next with earlier times, to find
	// the missed runs, and with the current time. See [JobOptions.Missed].
	//
	// Next is called on the goroutines of the jobs that use the schedule. A schedule
	// that several jobs share must be safe for concurrent use.
	//
	// A time without a monotonic clock reading, such as a time of a [Spec], follows the wall
	// clock: if the clock is set, or the machine sleeps, the job adapts. On Linux, the job
	// adapts within milliseconds. Elsewhere, and on a timer that wraps an engine, the job
	// takes a quarter of the time until the next run, but at least half a second and at most
	// ten. After a step forward, runs may have been missed.
	//
	// After a step back, an "@every" without START keeps its pace. An "@every" with START, a
	// Spec with a wildcard in the hour field, and another schedule with at most an hour between
	// two times continue from the new time, and may reach a time again. A Spec of fixed hours
	// waits until the clock shows the time of the next run again, so that no run happens twice.
	// Once the clock is three hours or more before the latest time shown so far, in one step or
	// several, the new time counts for all jobs. cron(8) has the same rules.
	Next(t time.Time) time.Time
}

// AfterRunSchedule is a [Schedule] that may count from the end of each run, as
// [FixedDelay] does. A schedule that wraps another should implement it and return the
// result of the other, or runs may overlap.
type AfterRunSchedule interface {
	Schedule

	// AfterRun reports whether a job calls Next only when a run has ended, with the
	// time of that end. It is called once per job.
	AfterRun() bool
}

func isAfterRun(s Schedule) bool {
	a, ok := s.(AfterRunSchedule)
	return ok && a.AfterRun()
}

// FixedRate returns a schedule of times that are one period apart on the monotonic
// clock, beginning one period from now. A run that is late or missed does not move
// the others. FixedRate panics if period is not positive.
func FixedRate(period time.Duration) Schedule {
	return fixedRate{time.Now(), positive("FixedRate: period", period)}
}

type fixedRate struct {
	start  time.Time
	period time.Duration
}

// Next implements [Schedule].
func (s fixedRate) Next(t time.Time) time.Time {
	passed := t.Sub(s.start)
	if passed < 0 {
		return s.start.Add(s.period)
	}
	return t.Add(s.period - passed%s.period)
}

// FixedDelay returns a schedule with its first run delay from now. Each other run is delay
// after the end of the run before. Runs never overlap. FixedDelay panics if delay is not
// positive.
func FixedDelay(delay time.Duration) Schedule {
	return fixedDelay{positive("FixedDelay: delay", delay)}
}

type fixedDelay struct{ delay time.Duration }

// Next implements [Schedule].
func (s fixedDelay) Next(t time.Time) time.Time { return t.Add(s.delay) }

// AfterRun implements [AfterRunSchedule].
func (fixedDelay) AfterRun() bool { return true }

// Jitter returns schedule with a random delay of less than limit for each time, so that
// jobs with the same schedule do not all run at the same moment. The delay does not make
// a run late in the sense of [Missed]. If limit is not less than the time between two
// runs, some may be missed.
//
// The delay replaces the delay of another Jitter and the JITTER of a [Spec], and may pass the
// END of the Spec. Jitter panics if schedule is nil or limit is not positive.
func Jitter(schedule Schedule, limit time.Duration) Schedule {
	if check.IsNil(schedule) {
		panic("clock: Jitter: schedule is nil (expected: a Schedule)")
	}
	return jitter{base: withJitter(schedule).base, limit: positive("Jitter: limit", limit)}
}

// jitter is a schedule with random delays. A Job adds the delay itself, so that a delay
// does not carry over to later times.
type jitter struct {
	base  Schedule
	limit time.Duration // 0 for no delays.
	spec  *Spec         // The base if that has the delays.
}

// withJitter returns the schedule as a schedule with jitter, possibly of zero.
func withJitter(s Schedule) jitter {
	switch s := s.(type) {
	case jitter:
		return s
	case *Spec:
		return jitter{base: s, spec: s}
	}
	return jitter{base: s}
}

// Next implements [Schedule].
func (s jitter) Next(t time.Time) time.Time { return s.delayed(s.base.Next(t)).at() }

// AfterRun implements [AfterRunSchedule].
func (s jitter) AfterRun() bool { return isAfterRun(s.base) }

// planned is a time of a schedule.
type planned struct {
	due   time.Time // The result of the schedule. Zero after the last run.
	delay time.Duration
}

// at returns the time of the run.
func (p planned) at() time.Time {
	if p.delay == 0 {
		return p.due
	}
	return p.due.Add(p.delay)
}

// delayed returns the given time of the schedule with a delay.
func (s jitter) delayed(due time.Time) planned {
	switch {
	case due.IsZero():
	case s.spec != nil:
		return planned{due, s.spec.Delay(due)}
	case s.limit > 0:
		return planned{due, hwt.Jitter(s.limit-1, 1)}
	}
	return planned{due, 0}
}

func positive(name string, d time.Duration) time.Duration {
	if d <= 0 {
		panic("clock: " + name + " is " + d.String() + " (expected: a positive duration)")
	}
	return d
}
