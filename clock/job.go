package clock

import (
	"fmt"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
)

// Overlap says what happens to a run that is due while another is under way.
type Overlap uint8

// The policies of overlap.
const (
	Skip     Overlap = iota // it is left out
	QueueOne                // it begins when that one ends; one waits at most
	Parallel                // it begins
)

// policy returns the one that was given, or the default.
func policy(given []Overlap) Overlap {
	if len(given) == 0 {
		return Skip
	}
	if len(given) > 1 || given[0] > Parallel {
		panic(fmt.Sprintf("clock: ScheduleFunc: overlap %v (expected: Skip, QueueOne or Parallel)", given))
	}
	return given[0]
}

// Ground rules
//
//	J1. At most one timeout is pending, and at most one goroutine between its
//	    coming due and the arming of the next: the one that planning counts.
//	J2. busy counts the goroutines that may yet run something, planning one
//	    included. It grows only while the job has not ended, or in one of them.
//	J3. The job is over when it has ended and busy is zero, or nothing was left to
//	    come and busy is zero. Then over is closed.
//	J4. mu is not held while f or the schedule runs.

// Job is a function that runs on a schedule. Its methods are safe for concurrent
// use.
type Job struct {
	clock    *Clock        // Immutable.
	schedule Schedule      // Immutable.
	f        func()        // Immutable.
	overlap  Overlap       // Immutable.
	over     chan struct{} // Closed when nothing runs, or will (J3).

	mu      sync.Mutex
	next    time.Time   // when the next run is due; zero if none is. Guarded by mu.
	timeout hwt.Timeout // Nil unless pending. Guarded by mu.
	ended   bool        // by Stop or the schedule. Guarded by mu.
	stopped bool        // by Stop. Guarded by mu.
	busy    int         // J2. Guarded by mu.
	coming  int         // runs of f that are due, and were not let begin, queued or skipped yet. Guarded by mu.
	running int         // runs of f under way. Guarded by mu.
	queued  bool        // a run waits for the end of another. Guarded by mu.
	skipped int64       // Guarded by mu.
}

// ScheduleFunc runs f at the times of the schedule, or up to a tick of the timer
// later, each time on a goroutine of its own, until Stop, or until the schedule
// returns the zero time. What happens to a run that is due while one is under way
// the policy says, Skip if none is given. Times that passed meanwhile are not made
// up for.
//
// A panic in f or in the schedule is reported: see WithErrorHandler. A panic in f
// ends that run only, one in the schedule ends the job.
//
// It panics if schedule or f is nil, if overlap is none of the policies, and if more
// than one is given.
func (c *Clock) ScheduleFunc(schedule Schedule, f func(), overlap ...Overlap) *Job {
	if schedule == nil || f == nil {
		panic("clock: ScheduleFunc: nil (expected: a schedule and a function)")
	}
	j := &Job{clock: c, schedule: schedule, f: f, overlap: policy(overlap), over: make(chan struct{}), busy: 1}
	defer j.done()
	j.plan(&standIn{clock: c, task: (*jobTask)(j)})
	return j
}

// Stop lets no further run begin. It returns whether that made a difference:
// false if the job was stopped, or its schedule had ended and its last run begun.
// It does not wait for a run that is under way: Wait does.
func (j *Job) Stop() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stopped || j.ended && !j.queued && j.coming == 0 {
		return false
	}
	j.stopped = true
	j.queued = false
	j.end()
	return true
}

// Wait returns when nothing is running, and nothing will: after Stop, or when the
// schedule has ended. It must not be called from the job's own function.
func (j *Job) Wait() { <-j.over }

// Next returns when the next run is due, or the zero time if none is planned:
// because the job has ended, or because its schedule counts from the end of the
// run under way.
func (j *Job) Next() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.next
}

// Skipped returns how many runs were left out, because another was under way.
func (j *Job) Skipped() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.skipped
}

// end makes an end of planning. Guarded by mu.
func (j *Job) end() {
	j.ended = true
	j.next = time.Time{}
	if j.timeout != nil {
		j.timeout.Cancel() // if it is too late for that, jobTask finds the job ended
		j.timeout = nil
	}
	j.settle()
}

// settle closes over if the job is over. Guarded by mu.
func (j *Job) settle() {
	if !j.ended || j.busy > 0 {
		return
	}
	select {
	case <-j.over:
	default:
		close(j.over)
	}
}

// done ends a goroutine's share in the job.
func (j *Job) done() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.busy--
	j.settle()
}

// plan asks the schedule for the next time, and arms the timer for it. cause is
// the timeout under which a panic of the schedule's is reported.
func (j *Job) plan(cause hwt.Timeout) {
	var next time.Time
	defer func() { j.arm(next) }() // also if the schedule ends the goroutine
	now := time.Now()
	j.clock.runner.Run(cause, hwt.TaskFunc(func(hwt.Timeout) error {
		next = j.schedule.Next(now)
		return nil
	}))
}

// arm arms the timer for the next run, or ends the job if there is none.
func (j *Job) arm(next time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.ended:
	case next.IsZero():
		j.end()
	default:
		j.next = next
		j.timeout = j.clock.arm((*jobTask)(j), time.Until(next))
	}
}

// jobTask is a Job as the task of its timeout.
type jobTask Job

// Run implements hwt.TimerTask. Nothing of the users' runs here.
func (r *jobTask) Run(timeout hwt.Timeout) error {
	if j := (*Job)(r); j.take(timeout) {
		go j.due(timeout)
	}
	return nil
}

// take reports whether a run is due now, which due then sees to.
func (j *Job) take(timeout hwt.Timeout) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.timeout != timeout {
		return false // stopped since it came due
	}
	if left := time.Until(j.next); left > 0 { // the wall clock was set back
		j.timeout = j.clock.arm((*jobTask)(j), left)
		return false
	}
	j.timeout, j.next = nil, time.Time{}
	j.busy++
	j.coming++
	return true
}

// due plans and runs, in the order that the schedule wants.
func (j *Job) due(timeout hwt.Timeout) {
	defer j.done()
	if isAfterRun(j.schedule) {
		j.run(timeout)
		j.plan(timeout)
		return
	}
	defer j.run(timeout) // also if the schedule ends the goroutine
	j.plan(timeout)
}

// run runs f, as often as was queued, unless the policy is against it.
func (j *Job) run(timeout hwt.Timeout) {
	if !j.begin() {
		return
	}
	for {
		j.call(timeout)
		if !j.again() {
			return
		}
	}
}

// call runs f in isolation. If f ends its goroutine, that is not this one.
func (j *Job) call(timeout hwt.Timeout) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		j.clock.runner.Run(timeout, hwt.TaskFunc(func(hwt.Timeout) error { j.f(); return nil }))
	}()
	<-ended
}

// begin reports whether a run that is due may begin now.
func (j *Job) begin() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.coming--
	switch {
	case j.stopped:
		return false
	case j.running == 0 || j.overlap == Parallel:
		j.running++
		return true
	case j.overlap == QueueOne && !j.queued:
		j.queued = true
	default:
		j.skipped++
	}
	return false
}

// again ends a run, and reports whether one was queued, which begins then.
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
