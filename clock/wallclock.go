package clock

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
)

// The monotonic clock of a timer does not notice that the wall clock was set, nor that
// the machine slept. While jobs wait for a time of the wall clock, one timeout of the
// clock compares both clocks twice per second. In a synctest bubble, whose clocks never
// differ, there is no such timeout.
const (
	lookPeriod = time.Second / 2

	// leastStep is the step that matters. Two readings of the clocks differ by less.
	leastStep = 100 * time.Millisecond

	// farBack is the distance from the latest time that the clock has shown, from which
	// the new time counts as right. Below it, the clock was corrected, and runs at fixed
	// hours do not happen twice. It is that of cron(8).
	farBack = 3 * time.Hour
)

// wallClock makes jobs follow steps of the wall clock.
type wallClock struct {
	off     bool // In a synctest bubble. Immutable after New.
	mu      sync.Mutex
	jobs    map[*Job]struct{} // Jobs that wait for a time of the wall clock. Guarded by mu.
	timeout hwt.Timeout       // Runs the next look. Nil while no job waits. Guarded by mu.
	offset  time.Duration     // The wall clock minus the monotonic one. Guarded by mu.
	high    time.Duration     // The latest time shown, since the clock's start. Guarded by mu.
}

// step is a change of the wall clock's offset to the monotonic clock.
type step int

const (
	noStep  step = iota
	forward      // Runs may be due.
	back         // By less than farBack from the latest time that the clock has shown.
	farther      // Back by farBack or more.
)

// isWall reports whether t has no monotonic reading.
func isWall(t time.Time) bool { return t == t.Round(0) }

// add makes j follow the steps from now on. It is called under mu of j.
func (w *wallClock) add(j *Job) {
	if w.off {
		return
	}
	c := j.clock
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.jobs == nil {
		w.jobs = map[*Job]struct{}{}
	}
	w.jobs[j] = struct{}{}
	if w.timeout == nil { // The first job. For the others, a look must compare with the old offset.
		w.offset, w.high = c.wallOffset(), math.MinInt64
	}
	if w.timeout == nil || ended(w.timeout) {
		w.arm(c)
	}
}

// remove makes j follow no more steps. It is called under mu of j.
func (w *wallClock) remove(j *Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.jobs, j)
	if len(w.jobs) == 0 && w.timeout != nil {
		w.timeout.Cancel()
		w.timeout = nil
	}
}

// wallOffset returns by how much the wall clock has gained on the monotonic clock since
// New. Both are from one reading, so that a pause between two readings is no step.
func (c *Clock) wallOffset() time.Duration {
	now := time.Now()
	return now.Round(0).Sub(c.start.Round(0)) - now.Sub(c.start) + time.Duration(c.ahead.Load())
}

// arm arms the timer for the next look. A refusal is not reported each time. Guarded by
// mu.
func (w *wallClock) arm(c *Clock) {
	var err error
	if w.timeout, err = c.timer.NewTimeout((*lookTask)(c), lookPeriod); err != nil {
		w.timeout = c.armRuntime((*lookTask)(c), lookPeriod)
	}
}

// lookTask is a Clock as the task that looks at the wall clock.
type lookTask Clock

// Run implements [hwt.TimerTask]. It runs no user code.
func (x *lookTask) Run(hwt.Timeout) error {
	(*Clock)(x).followSteps()
	return nil
}

// followSteps looks for a step, and makes the jobs follow it.
func (c *Clock) followSteps() {
	if step, jobs := c.wall.look(c); step != noStep {
		go func() {
			for _, j := range jobs {
				j.follow(step)
			}
		}()
	}
}

// Rejected implements [hwt.RejectedTask]: a goroutine runs the task, and err is reported.
func (x *lookTask) Rejected(timeout hwt.Timeout, err error) error {
	go x.Run(timeout)
	return err
}

// endOn implements endingTask.
func (x *lookTask) endOn(c *Clock) bool { return (*Clock)(x) == c }

// look returns the step of the wall clock since the last look, and the jobs that must
// follow it.
func (w *wallClock) look(c *Clock) (step, []*Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timeout == nil {
		return noStep, nil // The last job was removed meanwhile.
	}
	if ended(w.timeout) {
		w.arm(c)
	}
	step := w.note(c.now(), c.wallOffset())
	if step == noStep {
		return noStep, nil
	}
	return step, slices.Collect(maps.Keys(w.jobs))
}

// note sets the offset of the wall clock at the given monotonic time, and returns the
// step. Steps back add up: they count from the latest time shown. Guarded by mu.
func (w *wallClock) note(now, offset time.Duration) step {
	change := offset - w.offset
	if change.Abs() < leastStep {
		return noStep
	}
	w.high = max(w.high, now+w.offset)
	w.offset = offset
	if change > 0 {
		return forward
	}
	step := stepBack(w.high - now - offset)
	if step == farther {
		w.high = now + offset
	}
	return step
}

// stepBack returns the step to a time that is before the latest time shown by d.
func stepBack(d time.Duration) step {
	if d < farBack {
		return back
	}
	return farther
}

// follow adapts the next run to a step of the wall clock.
func (j *Job) follow(step step) {
	next, left, ok := j.interrupt(step)
	if !ok {
		return
	}
	go func() { // The schedule may block or end its goroutine.
		defer j.done()
		j.planWith(j.afterStep(step, next.due, left))
	}()
}

// interrupt returns the next run and the delay until it, and makes the caller plan again.
// After a step forward it only arms the timer again.
func (j *Job) interrupt(step step) (next planned, left time.Duration, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.timeout == nil || !isWall(j.next.at) || !j.timeout.Cancel() {
		return planned{}, 0, false // No run waits, or it is due already.
	}
	if step == forward {
		j.armNext()
		return planned{}, 0, false
	}
	next, left = j.next, time.Until(j.timeout.Deadline())
	left -= next.at.Sub(next.due)
	j.timeout, j.next = nil, planned{}
	j.startPlanning()
	return next, left, true
}

// afterStep returns the question for the next run when the clock was set back, with due
// as the time of the run before the step, and left as the delay until it.
func (j *Job) afterStep(step step, due time.Time, left time.Duration) func(now time.Time) (argument, next time.Time) {
	return func(now time.Time) (argument, next time.Time) {
		base := j.schedule.base
		switch {
		case isElapsed(base):
			return now, now.Add(max(left, 1)).In(due.Location())
		case step == back && !paced(base, due):
			return now, due
		}
		return now, base.Next(now)
	}
}

// wasSetBack reports whether the clock was set back after a run was due, and the job follows.
func (j *Job) wasSetBack(due, now time.Time) bool {
	ahead, base := due.Sub(now), j.schedule.base
	return ahead >= leastStep && (isElapsed(base) || stepBack(ahead) == farther || paced(base, due))
}

// isElapsed reports whether the times of s are relative to each other, as with an "@every"
// without START. A clock that is set back does not move them.
func isElapsed(s Schedule) bool {
	spec, ok := s.(*Spec)
	return ok && spec.limit().every > 0 && spec.limit().start.IsZero()
}

// paced reports whether a schedule with the given time follows a clock that is set back,
// instead of waiting until the clock shows its times again. As in cron(8), that depends on
// the hour field. Other schedules are paced if the time after due is within an hour.
func paced(s Schedule, due time.Time) bool {
	if spec, ok := s.(*Spec); ok {
		return spec.limit().every > 0 || !spec.fixedHours() && spec.limit().interval.n == 0
	}
	next := s.Next(due)
	return next.After(due) && next.Sub(due) <= time.Hour
}
