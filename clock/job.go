package clock

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/check"
)

// Overlap is what happens to a run of a [Job] that is due while another is under
// way.
type Overlap uint8

// The policies for runs that overlap.
const (
	OverlapSkip     Overlap = iota // It is skipped.
	OverlapQueueOne                // It begins when the other ends. At most one waits; more are skipped.
	OverlapParallel                // It begins.
)

// JobOptions are the settings of a [Job]. The zero value of each field is its
// default.
type JobOptions struct {
	// Overlap is one of [OverlapSkip], the default, [OverlapQueueOne] and
	// [OverlapParallel].
	Overlap Overlap
}

// Ground rules
//
//	J1. At most one timeout is pending. When it has expired, one goroutine plans the
//	    next run and arms the next timeout.
//	J2. busy counts the goroutines that may still run something, including one that
//	    plans. It grows only in ScheduleFunc and while a run is planned.
//	J3. The job is over when planning has ended and busy is zero. Then over is closed.
//	J4. mu is not held while f or the schedule runs.

// Job is a function that runs on a schedule. Its methods are safe for concurrent
// use.
type Job struct {
	clock    *Clock        // Immutable.
	schedule jitter        // Immutable.
	afterRun bool          // The schedule counts from the end of a run. Immutable.
	f        func()        // Immutable.
	overlap  Overlap       // Immutable.
	over     chan struct{} // Closed when nothing runs and nothing will (J3).

	mu      sync.Mutex
	next    planned     // Zero if no run is planned. Guarded by mu.
	timeout hwt.Timeout // Nil if no run is planned. Guarded by mu.
	ended   bool        // No run will be planned. Guarded by mu.
	stopped bool        // By Stop. Guarded by mu.
	busy    int         // J2. Guarded by mu.
	due     int         // Runs that are due, about which begin has not decided yet. Guarded by mu.
	running int         // Runs under way. Guarded by mu.
	queued  bool        // A run waits for the end of another. Guarded by mu.
	skipped int64       // Guarded by mu.
}

// ScheduleFunc calls f at the times of schedule or up to one tick of the timer
// later, each time on a goroutine of its own, until [Job.Stop], or until the
// schedule ends. nil options are the defaults.
//
// A panic in f is reported and ends that run. A panic in the schedule is reported
// and ends the job. See [Options.ErrorHandler].
//
// ScheduleFunc returns an error if schedule or f is nil, or if a field of the
// options is out of its range.
func (c *Clock) ScheduleFunc(schedule Schedule, f func(), options *JobOptions) (*Job, error) {
	if options == nil {
		options = new(JobOptions)
	}
	switch {
	case check.IsNil(schedule):
		return nil, errors.New("clock: ScheduleFunc: schedule is nil (expected: a Schedule)")
	case f == nil:
		return nil, errors.New("clock: ScheduleFunc: f is nil (expected: a function)")
	case options.Overlap > OverlapParallel:
		return nil, fmt.Errorf("clock: JobOptions.Overlap: %d (expected: OverlapSkip, OverlapQueueOne or OverlapParallel)", options.Overlap)
	}
	j := &Job{clock: c, schedule: withJitter(schedule), afterRun: isAfterRun(schedule), f: f,
		overlap: options.Overlap, over: make(chan struct{}), busy: 1}
	defer j.done()
	j.plan(time.Time{})
	return j, nil
}

// Stop prevents further runs from beginning, and reports whether it prevented any.
// It returns false if the job was stopped before, or if the schedule has ended and
// the last run has begun. It does not wait for a run that is under way; [Job.Wait]
// does.
func (j *Job) Stop() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stopped || j.ended && !j.queued && j.due == 0 {
		return false
	}
	j.stop()
	return true
}

// stop prevents further runs from beginning. Guarded by mu.
func (j *Job) stop() {
	j.stopped = true
	j.queued = false
	j.end()
}

// Wait returns when nothing is running and nothing will run again, after Stop or
// the end of the schedule. It must not be called from the job's own function.
func (j *Job) Wait() { <-j.over }

// Next returns the time of the next run, or the zero time if none is planned,
// because the job has ended or because its schedule counts from the end of the run
// under way.
func (j *Job) Next() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.next.at
}

// Skipped returns how many runs were skipped because another was under way.
func (j *Job) Skipped() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.skipped
}

// end ends planning. Guarded by mu.
func (j *Job) end() {
	j.ended = true
	j.next = planned{}
	if j.timeout != nil {
		j.timeout.Cancel() // If it is too late for that, expire finds no timeout.
		j.timeout = nil
	}
	j.closeIfOver()
}

// closeIfOver closes over if the job is over (J3). Guarded by mu.
func (j *Job) closeIfOver() {
	if !j.ended || j.busy > 0 {
		return
	}
	select {
	case <-j.over:
	default:
		close(j.over)
	}
}

// done is called at the end of each goroutine that busy counts.
func (j *Job) done() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.busy--
	j.closeIfOver()
}

// plan arms the timer for the schedule's first time after due, or after the present
// if due is zero. It ends the job if there is none.
func (j *Job) plan(due time.Time) {
	var next planned
	defer func() { j.arm(next) }() // also if the schedule panics or ends the goroutine
	j.clock.call(func() { next = j.schedule.nextAfter(due) })
}

// arm arms the timer for the next run, or ends the job if there is none.
func (j *Job) arm(next planned) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.ended:
	case next.due.IsZero():
		j.end()
	default:
		j.next = next
		j.timeout = j.clock.arm((*jobTask)(j), time.Until(next.at))
	}
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

// Refused implements [hwt.RefusedTask]: a goroutine runs the task, and err is reported.
func (x *jobTask) Refused(timeout hwt.Timeout, err error) error {
	go x.Run(timeout)
	return err
}

// expire reports whether a run is due, and when it was. The caller must then call
// planAndRun.
func (j *Job) expire() (due time.Time, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.timeout == nil || !ended(j.timeout) {
		return time.Time{}, false // it was stopped
	}
	if left := time.Until(j.next.at); left > 0 { // the wall clock was set back
		j.timeout = j.clock.arm((*jobTask)(j), left)
		return time.Time{}, false
	}
	due = j.next.due
	j.timeout, j.next = nil, planned{}
	j.busy++
	j.due++
	return due, true
}

// planAndRun runs f and plans the next run, in the order that the schedule needs.
func (j *Job) planAndRun(due time.Time) {
	defer j.done()
	if j.afterRun {
		j.run()
		j.plan(time.Time{})
		return
	}
	defer j.run() // also if the schedule ends the goroutine
	j.plan(due)
}

// run calls f, unless the policy is against it, and again for each run that was
// queued meanwhile.
func (j *Job) run() {
	for more := j.begin(); more; more = j.again() {
		j.call()
	}
}

// call calls f on a goroutine of its own, which f may end, and waits for it.
func (j *Job) call() {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		j.clock.call(j.f)
	}()
	<-ended
}

// begin reports whether a run that is due may begin now.
func (j *Job) begin() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.due--
	switch {
	case j.stopped:
		return false
	case j.running == 0 || j.overlap == OverlapParallel:
		j.running++
		return true
	case j.overlap == OverlapQueueOne && !j.queued:
		j.queued = true
	default:
		j.skipped++
	}
	return false
}

// again ends a run, and reports whether the queued one begins.
func (j *Job) again() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.queued {
		j.queued = false
		return true
	}
	j.running--
	return false
}
