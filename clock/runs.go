package clock

import (
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/internal/usercode"
)

// runs are the runs of a job and their counts. The job's mu guards them.
type runs struct {
	due       int  // Tasks that have expired, whose runs begin has not decided about yet.
	running   int  // Runs under way.
	queued    int  // Runs of the schedule that wait for the end of another.
	requested bool // A run of RunNow waits for that.

	last     time.Time // The start of the last run.
	lastErr  error     // The error of the last run that ended.
	finished int64
	skipped  int64
}

// waiting reports whether a run is due that has not begun.
func (r *runs) waiting() bool { return r.due > 0 || r.queued > 0 || r.requested }

// RunNow begins a run, in addition to those of the schedule, even if the job is
// paused. If another run is under way, [JobOptions.Overlap] decides. RunNow reports
// whether a run began or waits for the end of another. It returns false if the job has
// ended.
func (j *Job) RunNow() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.ended:
		return false
	case j.startsNow():
		j.runs.running++
		j.busy++
		go func() {
			defer j.done()
			j.work()
		}()
	case j.overlap == OverlapQueueOne && !j.runs.requested:
		j.runs.requested = true
	default:
		j.runs.skipped++
		return false
	}
	return true
}

// startsNow reports whether a run may begin beside those under way. Guarded by mu.
func (j *Job) startsNow() bool { return j.runs.running == 0 || j.overlap == OverlapParallel }

// run runs f n times, one after another, unless the policy is against it.
func (j *Job) run(n int) {
	if j.begin(n) {
		j.work()
	}
}

// begin reports whether the first of n runs that are due may begin now. The others
// are queued.
func (j *Job) begin(n int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := &j.runs
	r.due--
	switch {
	case n == 0 || j.stopped || j.paused:
	case j.startsNow():
		r.running++
		r.queued += n - 1
		return true
	case j.overlap == OverlapQueueOne && r.queued == 0:
		r.queued = 1
		r.skipped += int64(n - 1)
	default:
		r.skipped += int64(n)
	}
	return false
}

// work runs f, which has begun, and again for each run that is queued meanwhile.
func (j *Job) work() {
	for more := true; more; {
		more = j.finish(j.call())
	}
}

// call calls f on a new goroutine, which f or the error handler may end, and waits for it.
func (j *Job) call() (err error) {
	j.mu.Lock()
	j.runs.last = j.clock.present()
	j.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if err != nil {
				j.clock.failures.Add(1)
				j.report(err)
			}
		}()
		usercode.Run(func() { err = j.f() }, func(broken error) { err = broken })
	}()
	<-ended
	return err
}

// report reports err with the name of the job, if it has one.
func (j *Job) report(err error) {
	job := "job"
	if j.name != "" {
		job = fmt.Sprintf("job %q", j.name)
	}
	j.clock.report(j.label, fmt.Errorf("clock: %s: %w", job, err))
}

// finish records the end of a run, and reports whether a queued one begins.
func (j *Job) finish(err error) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := &j.runs
	r.finished++
	r.lastErr = err
	switch {
	case r.queued > 0:
		r.queued--
	case r.requested:
		r.requested = false
	default:
		r.running--
		return false
	}
	return true
}
