package clock

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/internal/check"
)

// registry holds the named jobs of a clock that are not over.
type registry struct {
	mu   sync.Mutex
	jobs map[string]*Job // Guarded by mu.
}

// add adds a j with a name. add returns an error if another job has that name.
func (r *registry) add(j *Job) error {
	if j.settings.name == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.jobs[j.settings.name] != nil {
		return check.Errorf("clock: JobOptions.Name: %q (expected: a name that no other job of the clock has)", j.settings.name)
	}
	if r.jobs == nil {
		r.jobs = map[string]*Job{}
	}
	r.jobs[j.settings.name] = j
	return nil
}

// remove frees the name of j, unless another job has it already.
func (r *registry) remove(j *Job) {
	if j.settings.name == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.jobs[j.settings.name] == j {
		delete(r.jobs, j.settings.name)
	}
}

// Jobs returns the named jobs in the order of the names. A job remains in the list until the
// job has ended and the last run has returned.
func (c *Clock) Jobs() []*Job {
	c.jobs.mu.Lock()
	defer c.jobs.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.jobs.jobs), func(a, b *Job) int { return cmp.Compare(a.settings.name, b.settings.name) })
}

// Job returns the job of the given name, or nil if it is not among [Clock.Jobs].
func (c *Clock) Job(name string) *Job {
	c.jobs.mu.Lock()
	defer c.jobs.mu.Unlock()
	return c.jobs.jobs[name]
}

// StopJobs prevents further runs of the named jobs and waits for the runs under way. If ctx
// ends first, StopJobs ends the contexts of these runs and returns the cause of ctx without
// waiting for the runs; [Job.Wait] waits. Jobs without a name continue. StopJobs must not
// be called from a job's function.
func (c *Clock) StopJobs(ctx context.Context) error {
	jobs := c.Jobs()
	for _, j := range jobs {
		j.halt()
		defer j.settings.cancel()
	}
	for _, j := range jobs {
		over := j.untilOver()
		if over == nil {
			continue
		}
		select {
		case <-over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// JobStatus is a snapshot of a [Job].
type JobStatus struct {
	Name      string
	Next      time.Time // See [Job.Next].
	LastRun   time.Time // The start of the last run, or the zero time before the first.
	LastError error     // The error of the last run that ended, or nil if it succeeded.
	Running   int       // Runs under way.
	Paused    bool
	Runs      int64 // Runs that have ended.
	Skipped   int64 // Runs that were skipped because another was under way.
}

// Status returns a snapshot of the job. It takes constant time.
func (j *Job) Status() JobStatus {
	j.mu.Lock()
	defer j.mu.Unlock()
	extra := cmp.Or(j.extra, &noExtra)
	status := JobStatus{Name: j.settings.name, Next: j.next.at(), LastError: extra.lastErr, Running: int(j.running),
		Paused: j.paused, Runs: j.finished, Skipped: extra.skipped}
	if j.last != 0 {
		status.LastRun = time.Unix(0, j.last)
	}
	return status
}

// Pause prevents runs of the schedule until [Job.Resume], including a run that waits for the
// end of another. Runs of [Job.RunNow] still begin. Pause returns false if the job was paused
// before or has ended.
func (j *Job) Pause() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.paused || j.ended {
		return false
	}
	j.paused = true
	j.queued = 0
	j.disarm()
	return true
}

// Resume ends a pause. The next run is at the schedule's first time after now; runs that
// were due during the pause are skipped, regardless of [JobOptions.Missed]. Resume
// returns false if the job is not paused or has ended.
func (j *Job) Resume() bool {
	resumed, plans := j.resume()
	if plans {
		defer j.done()
		j.planFromNow()
	}
	return resumed
}

// resume ends a pause. The caller must plan the next run if no other goroutine does.
func (j *Job) resume() (resumed, plans bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.paused || j.ended {
		return false, false
	}
	j.paused = false
	if j.planning {
		return true, false
	}
	j.startPlanning()
	return true, true
}
