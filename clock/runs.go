package clock

import (
	"fmt"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// waiting reports whether a run is due that has not begun. Guarded by mu.
func (j *Job) waiting() bool { return j.due > 0 || j.queued > 0 || j.requested }

// RunNow begins a run, in addition to the runs of the schedule, even if the job is paused. If
// another run is under way, [JobOptions.Overlap] decides. RunNow reports whether a run began or
// waits for the end of another. It returns false if the job has ended.
func (j *Job) RunNow() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.ended:
		return false
	case j.startsNow():
		j.running++
		j.busy++
		go func() {
			defer j.done()
			j.work()
		}()
	case j.settings.overlap == OverlapQueueOne && !j.requested:
		j.requested = true
	default:
		j.ensure().skipped++
		return false
	}
	return true
}

// startsNow reports whether a run may begin while others are under way. Guarded by mu.
func (j *Job) startsNow() bool { return j.running == 0 || j.settings.overlap == OverlapParallel }

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
	j.due--
	switch {
	case n == 0 || j.stopped || j.paused:
	case j.startsNow():
		j.running++
		j.queued += int32(n - 1)
		return true
	case j.settings.overlap == OverlapQueueOne && j.queued == 0:
		j.queued = 1
		j.ensure().skipped += int64(n - 1)
	default:
		j.ensure().skipped += int64(n)
	}
	return false
}

// work runs f for a run that has begun, and again for each run that is queued before f returns.
func (j *Job) work() {
	for more := true; more; {
		more = j.finish(j.call())
	}
}

// call calls f on a new goroutine, and waits for the goroutine. f or the error handler may end
// the goroutine.
func (j *Job) call() (err error) {
	j.mu.Lock()
	j.last = j.clock.present().UnixNano()
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
		usercode.Run(func() { err = j.invoke() }, func(broken error) { err = broken })
	}()
	<-ended
	return err
}

// invoke calls the function.
func (j *Job) invoke() error {
	if j.f == nil {
		return j.settings.run()
	}
	j.f()
	return nil
}

// label names the function in the log.
func (j *Job) label() hwt.TimerTask {
	if j.f == nil {
		return (*jobTask)(j)
	}
	return enginekit.Func(j.f)
}

// report reports err with the name of the job, if it has one.
func (j *Job) report(err error) {
	job := "job"
	if name := j.settings.name; name != "" {
		job = fmt.Sprintf("job %q", name)
	}
	j.clock.report(j.label(), fmt.Errorf("clock: %s: %w", job, err))
}

// finish records the end of a run, and reports whether a queued one begins.
func (j *Job) finish(err error) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.finished++
	if err != nil || j.extra != nil {
		j.ensure().lastErr = err
	}
	switch {
	case j.queued > 0:
		j.queued--
	case j.requested:
		j.requested = false
	default:
		j.running--
		return false
	}
	return true
}
