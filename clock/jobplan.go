package clock

import (
	"fmt"
	"time"

	"github.com/hashedwheel/hwt"
)

// leastDelay is the delay of a run that is due now or in the past. It keeps a schedule that
// only knows such times from running without a pause.
const leastDelay = time.Millisecond

// patience is the number of times in succession that may pass while the schedule
// computes them. A schedule that returns the present, such as time.Now(), has no others.
const (
	patience = 10
	reported = -1
)

// planFromNow arms the timer for the schedule's first time from now on. If the schedule
// has ended, the job ends.
func (j *Job) planFromNow() {
	j.planWith(func(now time.Time) (argument, next time.Time) { return now, j.base().Next(now) })
}

// plan decides which due runs begin, and returns the number of runs. last is the first due
// run. plan arms the timer for the run after the due runs.
func (j *Job) plan(last planned) (runs int) {
	runs = 1 // even if the schedule fails.
	j.planWith(func(now time.Time) (argument, next time.Time) {
		now = now.Add(-last.delay) // A delay does not make a run late.
		if j.wasSetBack(last.due, now) {
			return now, j.base().Next(now)
		}
		times, next := j.settings.missed.Plan(j.base(), last.due, now)
		runs = len(times)
		return now, next
	})
	return runs
}

// planWith arms the timer for the time that ask returns, with the argument that the
// schedule returned it for. If ask fails, the job ends.
func (j *Job) planWith(ask func(now time.Time) (argument, next time.Time)) {
	for ask != nil { // Ends: each other turn needs a step of the wall clock.
		ask = j.planOnce(ask)
	}
}

// planOnce is planWith, unless the wall clock was set back during the call. Then it
// returns what to ask instead.
func (j *Job) planOnce(ask func(now time.Time) (argument, next time.Time)) (again func(now time.Time) (argument, next time.Time)) {
	var next planned
	offset := j.clock.wallOffset()
	now := j.clock.present()
	defer func() { // even if ask ends the goroutine.
		if step := j.arm(next, offset); step != noStep {
			again = j.afterStep(step, next.due, next.due.Sub(now.Round(0)))
		}
	}()
	j.clock.call(func() {
		argument, due := ask(now)
		if !due.IsZero() && !due.After(argument) {
			next = planned{now, leastDelay} // Before the error handler, which may end the goroutine.
			j.warn(due, argument)
			return
		}
		next = withJitter(j.schedule).delayed(due)
		switch after := j.clock.present(); {
		case j.passed == reported:
		case due.IsZero() || due.After(after):
			j.passed = 0
		default:
			if j.passed++; j.passed == patience {
				j.warn(due, after)
			}
		}
	})
	return nil
}

// warn reports the schedule, once, for a time that is not after its argument or the present.
func (j *Job) warn(due, limit time.Time) {
	if j.passed == reported {
		return
	}
	j.passed = reported
	j.report(fmt.Errorf("schedule %T returned %v, which is not after %v; the run waits for a millisecond (reported once)",
		j.base(), due, limit))
}

// arm arms the timer for the next run. The run was planned with the given offset of the wall
// clock. If next is zero, the job ends. If the wall clock has been set back since, arm returns
// that step, and the caller must plan again.
func (j *Job) arm(next planned, offset time.Duration) step {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.ended && !j.paused && isWall(next.due) && !next.due.IsZero() {
		j.clock.wall.add(j, j.clock.until(next.at())) // First: from now on, a step is noticed there.
		if change := j.clock.wallOffset() - offset; change <= -leastStep {
			return stepBack(-change)
		}
	}
	j.planning = false
	switch {
	case j.ended:
	case next.due.IsZero():
		j.end()
	case j.paused: // Resume plans.
	default:
		j.next = next
		j.armNext()
	}
	return noStep
}

// armNext arms the timer for next. Guarded by mu.
func (j *Job) armNext() {
	delay := j.clock.until(j.next.at())
	if delay <= 0 {
		delay = leastDelay
	}
	j.timeout = j.clock.arm((*jobTask)(j), delay)
}

// jobTask is a Job as the task of its timeouts.
type jobTask Job

// Run implements [hwt.TimerTask]. No user code runs here.
func (x *jobTask) Run(hwt.Timeout) error {
	j := (*Job)(x)
	if due, ok := j.expire(); ok {
		go j.planAndRun(due)
	}
	return nil
}

// Rejected implements [hwt.RejectedTask]: a goroutine runs the task, and err is reported.
func (x *jobTask) Rejected(timeout hwt.Timeout, err error) error {
	go x.Run(timeout)
	return err
}

// expire reports whether a run is due, and which. The caller must then call
// planAndRun.
func (j *Job) expire() (due planned, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.timeout == nil || !j.timeout.IsExpired() {
		return planned{}, false // It was stopped, paused or armed again.
	}
	left := j.clock.until(j.next.at())
	if left > 0 && isElapsed(j.base()) {
		j.next.due, left = j.next.due.Add(-left), 0
	}
	if left > 0 { // The wall clock was set back.
		j.armNext()
		if left >= leastStep {
			go j.clock.followSteps()
		}
		return planned{}, false
	}
	due = j.next
	j.timeout, j.next = nil, planned{}
	j.startPlanning()
	j.due++
	return due, true
}

// startPlanning makes the caller the goroutine that plans. The caller must call done at the
// end. Guarded by mu.
func (j *Job) startPlanning() {
	j.planning = true
	j.busy++
}

// planAndRun runs f and plans the next run, in the order that the schedule needs.
func (j *Job) planAndRun(due planned) {
	defer j.done()
	runs := 1
	if j.afterRun {
		if j.settings.missed.skips(due.at(), j.clock.present()) {
			runs = 0
		}
		j.run(runs)
		j.planFromNow()
		return
	}
	defer func() { j.run(runs) }() // even if the schedule ends the goroutine.
	runs = j.plan(due)
}
