package clock

import (
	"maps"
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

	// farBack is the step back from which the new time counts as right. After a shorter
	// one, as when a clock is corrected, runs do not happen twice.
	farBack = -3 * time.Hour
)

// wallClock makes jobs follow steps of the wall clock.
type wallClock struct {
	off     bool // In a synctest bubble. Immutable after New.
	mu      sync.Mutex
	jobs    map[*Job]struct{} // Jobs that wait for a time of the wall clock. Guarded by mu.
	timeout hwt.Timeout       // Runs the next look. Nil while no job waits. Guarded by mu.
	offset  time.Duration     // The wall clock minus the monotonic one. Guarded by mu.
}

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
		w.offset = c.wallOffset()
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
	c := (*Clock)(x)
	if step, jobs := c.wall.look(c); len(jobs) > 0 {
		go func() {
			for _, j := range jobs {
				j.follow(step)
			}
		}()
	}
	return nil
}

// Rejected implements [hwt.RejectedTask]: a goroutine runs the task, and err is reported.
func (x *lookTask) Rejected(timeout hwt.Timeout, err error) error {
	go x.Run(timeout)
	return err
}

// endOn implements endingTask.
func (x *lookTask) endOn(c *Clock) bool { return (*Clock)(x) == c }

// look returns the step of the wall clock since the last one, and the jobs that must
// follow it, if there was a step.
func (w *wallClock) look(c *Clock) (step time.Duration, jobs []*Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timeout == nil || !w.timeout.IsExpired() {
		return 0, nil // The last job was removed meanwhile, or another timeout replaced it.
	}
	offset := c.wallOffset()
	w.arm(c)
	if step = offset - w.offset; step.Abs() < leastStep {
		return 0, nil
	}
	w.offset = offset
	return step, slices.Collect(maps.Keys(w.jobs))
}

// follow arms the timer anew after a step of the wall clock.
func (j *Job) follow(step time.Duration) {
	if !j.rearm(step) {
		return
	}
	go func() { // The schedule may block or end its goroutine.
		defer j.done()
		j.planFromNow()
	}()
}

// rearm arms the timer for the next run by the new time. It returns true if the caller
// must plan the run instead.
func (j *Job) rearm(step time.Duration) (plans bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.timeout == nil || !isWall(j.next.at) || !j.timeout.Cancel() {
		return false // No run waits, or it is due already.
	}
	if step > farBack {
		j.armNext()
		return false
	}
	j.timeout, j.next = nil, planned{}
	j.startPlanning()
	return true
}
