package clock

import (
	"math/rand/v2"
	"time"
)

// Schedule says when something is to run: Next returns the first time after t, or
// the zero time if there is none, which ends the schedule. It is called with the
// present, on the goroutines of the jobs that use it; a schedule that several
// jobs share must bear that. A time that is not after t is due at once: a schedule
// that has no others lets its job run without a pause.
//
// Every schedule of github.com/robfig/cron/v3 is one. Its times, as all without a
// monotonic reading, are of the wall clock. If that is set back, a run waits until
// it shows the time again. If it is set forward, past the next run or towards it,
// that is noticed only when the run comes due as it was planned, late by as much as
// the clock was moved; the one after it is on time.
type Schedule interface {
	Next(t time.Time) time.Time
}

// FixedRate returns a schedule of times that are period apart, the first of them
// one period from now. A run that is late, or missed, moves no other. The times
// are of the monotonic clock. It panics if period is not positive.
func FixedRate(period time.Duration) Schedule {
	return fixedRate{time.Now(), positive("FixedRate", period)}
}

type fixedRate struct {
	start  time.Time
	period time.Duration
}

func (s fixedRate) Next(t time.Time) time.Time {
	passed := t.Sub(s.start)
	if passed < 0 {
		return s.start.Add(s.period)
	}
	return t.Add(s.period - passed%s.period)
}

// FixedDelay returns a schedule that lets delay pass from the end of each run to
// the next, and from the start to the first. So runs never overlap. It panics if
// delay is not positive.
func FixedDelay(delay time.Duration) Schedule {
	return fixedDelay{positive("FixedDelay", delay)}
}

type fixedDelay struct{ delay time.Duration }

func (s fixedDelay) Next(t time.Time) time.Time { return t.Add(s.delay) }
func (fixedDelay) afterRun() bool               { return true }

// Jitter returns schedule with each of its times put off at random, by less than
// most: so that what was scheduled alike does not run all at once. Let most be
// less than the schedule's period, or times are left out. It panics if most is
// not positive.
func Jitter(schedule Schedule, most time.Duration) Schedule {
	return jitter{schedule, positive("Jitter", most)}
}

type jitter struct {
	Schedule
	most time.Duration
}

func (s jitter) Next(t time.Time) time.Time {
	next := s.Schedule.Next(t)
	if next.IsZero() {
		return next
	}
	return next.Add(rand.N(s.most))
}

func (s jitter) afterRun() bool { return isAfterRun(s.Schedule) }

// isAfterRun reports whether the schedule counts from the end of a run.
func isAfterRun(s Schedule) bool {
	a, ok := s.(interface{ afterRun() bool })
	return ok && a.afterRun()
}

func positive(name string, d time.Duration) time.Duration {
	if d <= 0 {
		panic("clock: " + name + ": " + d.String() + " (expected: > 0)")
	}
	return d
}
