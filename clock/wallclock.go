package clock

import (
	"math"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// The monotonic clock of a timer does not notice that the wall clock was set, nor that the
// machine slept. While jobs wait for a time of the wall clock, the kernel reports each step on
// Linux. Elsewhere, and on a timer that no engine knows, such as a wrapper, one timeout of the
// clock compares both clocks. In a synctest bubble there is neither, because the clocks of a
// bubble never differ.
const (
	// The period of the looks is a quarter of the time until the next run, within these
	// limits. A step back needs no look: the job notices the step when the job's timeout
	// expires.
	leastLookPeriod = time.Second / 2
	mostLookPeriod  = 10 * time.Second

	// leastStep is the step that matters. Two readings of the clocks differ by less.
	leastStep = 100 * time.Millisecond

	// farBack is the smallest step back, from the latest time that the clock has shown, after
	// which the new time counts as right. After a shorter step, a correction of the clock,
	// runs at fixed hours do not happen twice. cron(8) behaves in the same way.
	farBack = 3 * time.Hour
)

// wallClock makes jobs follow steps of the wall clock.
type wallClock struct {
	off     bool // In a synctest bubble. Immutable after New.
	mu      sync.Mutex
	jobs    *Job          // The first of those that wait for a time of the wall clock. Guarded by mu.
	unwatch func()        // Ends the kernel's reports. Nil while no job waits, and without reports. Guarded by mu.
	timeout hwt.Timeout   // Runs the next look. Nil while no job waits, and with the kernel's reports. Guarded by mu.
	soonest time.Duration // The next run that is known, in the clock's time. Guarded by mu.
	offset  time.Duration // The wall clock minus the monotonic one. Guarded by mu.
	high    time.Duration // The latest time shown, since the clock's start. Guarded by mu.
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

// add makes j follow the steps from now on. The next run of j is left from now. The caller
// holds mu of j.
func (w *wallClock) add(j *Job, left time.Duration) {
	if w.off {
		return
	}
	c := j.clock
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.jobs == nil
	if !j.listed {
		if j.listed, j.after = true, w.jobs; w.jobs != nil {
			w.jobs.before = j
		}
		w.jobs = j
	}
	if first { // For the others, a look must compare with the old offset.
		w.offset, w.high = c.wallOffset(), math.MinInt64
		w.watch(c)
	}
	now := c.elapsed()
	if at := now + left; at < w.soonest || w.soonest <= now {
		w.soonest = at
	}
	if w.unwatch == nil && (w.timeout == nil || ended(w.timeout)) {
		w.arm(c)
	}
}

// watch makes the kernel report the steps, if it can. Guarded by mu.
func (w *wallClock) watch(c *Clock) {
	stopped, ok := enginekit.Ended(c.timer)
	if !ok || c.bubble.Inside() {
		return
	}
	select {
	case <-stopped: // Jobs are on runtime timers.
	default:
		w.unwatch = watchSteps(stopped, c.followSteps)
	}
}

// remove makes j follow no more steps. It is called under mu of j.
func (w *wallClock) remove(j *Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !j.listed {
		return
	}
	if j.before == nil {
		w.jobs = j.after
	} else {
		j.before.after = j.after
	}
	if j.after != nil {
		j.after.before = j.before
	}
	j.listed, j.before, j.after = false, nil, nil
	switch {
	case w.jobs != nil:
	case w.unwatch != nil:
		w.unwatch()
		w.unwatch = nil
	case w.timeout != nil:
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
	period := min(max((w.soonest-c.elapsed())/4, leastLookPeriod), mostLookPeriod)
	if w.timeout, err = c.timer.NewTimeout((*lookTask)(c), period); err != nil {
		w.timeout = c.armRuntime((*lookTask)(c), period)
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
	if w.jobs == nil {
		return noStep, nil // The last job has been removed.
	}
	if w.timeout != nil && ended(w.timeout) {
		w.arm(c)
	}
	step := w.note(c.elapsed(), c.wallOffset())
	if step == noStep {
		return noStep, nil
	}
	var jobs []*Job
	for j := w.jobs; j != nil; j = j.after {
		jobs = append(jobs, j)
	}
	return step, jobs
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

// interrupt returns the next run and the delay until then, and makes the caller plan again.
// After a step forward, interrupt only arms the timer again.
func (j *Job) interrupt(step step) (next planned, left time.Duration, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.timeout == nil || !isWall(j.next.due) || !j.timeout.Cancel() {
		return planned{}, 0, false // No run waits, or it is due already.
	}
	if step == forward {
		j.armNext()
		return planned{}, 0, false
	}
	next, left = j.next, time.Until(j.timeout.Deadline())
	left -= next.delay
	j.timeout, j.next = nil, planned{}
	j.startPlanning()
	return next, left, true
}

// afterStep returns a function that plans the next run after a step of the clock. due is the time
// of the next run before the step, and left is the delay until due.
func (j *Job) afterStep(step step, due time.Time, left time.Duration) func(now time.Time) (argument, next time.Time) {
	return func(now time.Time) (argument, next time.Time) {
		base := j.base()
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
	ahead, base := due.Sub(now), j.base()
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
		return spec.limit().every > 0 || !spec.fixedHours()
	}
	next := s.Next(due)
	return next.After(due) && next.Sub(due) <= time.Hour
}
