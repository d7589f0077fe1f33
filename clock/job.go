package clock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/check"
)

// Overlap is the treatment of a run of a [Job] that is due while another is under way.
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
	// Name makes the job known to [Clock.Jobs] and [Clock.Job], and appears in the job's
	// errors. Two jobs of a clock cannot have the same name until one job is over. The
	// default, "", is no name.
	Name string

	// Overlap is one of [OverlapSkip], the default, [OverlapQueueOne] and
	// [OverlapParallel].
	Overlap Overlap

	// Missed is the treatment of runs that are due while the process is paused, the
	// machine sleeps, or the wall clock is set forward. By default, the last of them
	// happens late, and the others are skipped.
	Missed Missed
}

func (o *JobOptions) check() error {
	if o.Overlap > OverlapParallel {
		return check.Errorf("clock: JobOptions.Overlap: %d (expected: OverlapSkip, OverlapQueueOne or OverlapParallel)", o.Overlap)
	}
	return o.Missed.Validate()
}

// Ground rules
//
// Tasks of the timer, calls of Pause, Resume, RunNow, and Stop, and steps of the wall clock change a job
// at the same time. A plan of the next run calls the user's schedule, which may be slow or call the
// job, so no lock is held. The rules allow one plan at a time: no run is lost, and no run happens twice.
//
//	J1. At most one timeout is pending, and not while planning is set. When it has
//	    expired, or at Resume, one goroutine plans the next run and arms the next
//	    timeout.
//	J2. busy counts the goroutines that may still run something, including one that
//	    plans. It grows only before the job is over.
//	J3. The job is over when planning has ended for good and busy is zero. Then the
//	    name is free, and Wait returns.
//	J4. mu is not held while f, the schedule or a context's cancel runs. The locks of
//	    the clock's registry and of its wall clock are taken under mu.

// Job is a function that runs on a schedule. The methods are safe for concurrent use. A Job
// takes 160 bytes and a timeout, and 64 bytes for the [Spec].
type Job struct {
	clock    *Clock       // Immutable.
	schedule Schedule     // Immutable.
	settings *jobSettings // Immutable.
	f        func()       // Of ScheduleFunc, or nil. Immutable.

	mu      sync.Mutex
	next    planned     // Zero if no run is planned. Guarded by mu.
	timeout hwt.Timeout // Nil if no run is planned. Guarded by mu.
	extra   *jobExtra   // Nil for none. Guarded by mu.

	before, after *Job // In wallClock.jobs. Guarded by mu of the wall clock.

	last     int64 // The start of the last run, in nanoseconds since 1970, or 0. Guarded by mu.
	finished int64 // Runs that have ended. Guarded by mu.
	busy     int32 // J2. Guarded by mu.
	due      int32 // Tasks that have expired and that begin has not handled yet. Guarded by mu.
	running  int32 // Runs under way. Guarded by mu.
	queued   int32 // Runs of the schedule that wait for the end of another. Guarded by mu.

	requested bool // A run of RunNow waits for the end of another. Guarded by mu.
	planning  bool // J1. Guarded by mu.
	paused    bool // Guarded by mu.
	ended     bool // No run will be planned. Guarded by mu.
	stopped   bool // By Stop. Guarded by mu.
	afterRun  bool // The schedule counts from the end of a run. Immutable.
	passed    int8 // Times in succession that had passed when the schedule returned, or reported. Of the goroutine that plans (J1).
	listed    bool // It is in wallClock.jobs. Guarded by mu of the wall clock.
}

// jobSettings are the parts of a Job that many share.
type jobSettings struct {
	name    string
	overlap Overlap
	missed  Missed
	run     func() error // Of ScheduleContext, or nil.
	cancel  func()       // Ends the context of run.
}

var defaultSettings = jobSettings{cancel: func() {}}

// jobExtra are the parts of a Job that few have.
type jobExtra struct {
	over    chan struct{} // Closed when the job is over (J3). Nil unless somebody waits.
	lastErr error         // The error of the last run that ended.
	skipped int64
}

var noExtra jobExtra

// ensure returns extra. Guarded by mu.
func (j *Job) ensure() *jobExtra {
	if j.extra == nil {
		j.extra = new(jobExtra)
	}
	return j.extra
}

// base returns the schedule without its random delays.
func (j *Job) base() Schedule { return withJitter(j.schedule).base }

// ScheduleFunc calls f at the times of schedule or up to one tick of the timer
// later, each time on a new goroutine, until [Job.Stop], or until the schedule ends. nil
// options are the defaults.
//
// A panic in f is reported and ends that run. A panic in the schedule is reported
// and ends the job. See [Options.ErrorHandler].
//
// ScheduleFunc returns an error if schedule or f is nil, if a field of the options
// is out of its range, or if another job has the name.
func (c *Clock) ScheduleFunc(schedule Schedule, f func(), options *JobOptions) (*Job, error) {
	if f == nil {
		return nil, check.Errorf("clock: ScheduleFunc: f is nil (expected: a function)")
	}
	return c.schedule("ScheduleFunc", &Job{f: f}, schedule, options, defaultSettings)
}

// ScheduleContext is [Clock.ScheduleFunc] for a function with a context. The context ends when
// the job is stopped. An error that f returns is reported and does not end the job. After Stop,
// [context.Canceled] is not reported.
func (c *Clock) ScheduleContext(schedule Schedule, f func(context.Context) error, options *JobOptions) (*Job, error) {
	if f == nil {
		return nil, check.Errorf("clock: ScheduleContext: f is nil (expected: a function)")
	}
	ctx, cancel := context.WithCancel(context.Background())
	run := func() error {
		err := f(ctx)
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return nil
		}
		return err
	}
	return c.schedule("ScheduleContext", new(Job), schedule, options, jobSettings{run: run, cancel: cancel})
}

// schedule starts a job that has a function.
func (c *Clock) schedule(caller string, j *Job, schedule Schedule, options *JobOptions, settings jobSettings) (*Job, error) {
	if check.IsNil(schedule) {
		return nil, check.Errorf("clock: %s: schedule is nil (expected: a Schedule)", caller)
	}
	if options != nil {
		if err := options.check(); err != nil {
			return nil, err
		}
		settings.name, settings.overlap, settings.missed = options.Name, options.Overlap, options.Missed
	}
	c.in(0) // Panics in another bubble, before the job has its name.
	j.clock, j.schedule, j.afterRun, j.settings = c, schedule, isAfterRun(schedule), &defaultSettings
	if options != nil || settings.run != nil {
		j.settings = &settings
	}
	j.busy, j.planning = 1, true
	if err := c.jobs.add(j); err != nil {
		return nil, err
	}
	defer j.done()
	j.planFromNow()
	return j, nil
}

// Stop prevents further runs from beginning and ends the context of the function. Stop
// reports whether a run was prevented. Stop returns false if the job was stopped before, or
// if the schedule has ended and the last run has begun. Stop does not wait for a run under
// way; [Job.Wait] does.
func (j *Job) Stop() bool {
	defer j.settings.cancel() // After the unlock (J4).
	return j.halt()
}

// halt is Stop without the end of the context.
func (j *Job) halt() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stopped || j.ended && !j.waiting() {
		return false
	}
	j.stop()
	return true
}

// stop prevents further runs from beginning. Guarded by mu.
func (j *Job) stop() {
	j.stopped = true
	j.queued, j.requested = 0, false
	j.end()
}

// Wait returns when no run is under way and no run will begin, after Stop or the end of the
// schedule. It must not be called from the job's own function.
func (j *Job) Wait() {
	if over := j.untilOver(); over != nil {
		<-over
	}
}

// untilOver returns a channel that is closed when the job is over. It returns nil if the job
// is over already.
func (j *Job) untilOver() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.isOver() {
		return nil
	}
	extra := j.ensure()
	if extra.over == nil {
		extra.over = make(chan struct{})
	}
	return extra.over
}

// isOver reports whether no run is under way and no run will begin (J3). Guarded by mu.
func (j *Job) isOver() bool { return j.ended && j.busy == 0 }

// Next returns the time of the next run, or the zero time if that time is not known,
// because the job has ended or is paused, or because the schedule counts from the end of
// the run under way.
func (j *Job) Next() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.next.at()
}

// end ends planning. Guarded by mu.
func (j *Job) end() {
	j.ended = true
	j.disarm()
	j.finishIfOver()
}

// disarm cancels the next run. If it is too late for that, expire finds no timeout.
// Guarded by mu.
func (j *Job) disarm() {
	j.next = planned{}
	if j.timeout != nil {
		j.timeout.Cancel()
		j.timeout = nil
	}
	j.clock.wall.remove(j)
}

// finishIfOver frees the name and ends Wait if the job is over (J3). Guarded by mu.
func (j *Job) finishIfOver() {
	if !j.isOver() {
		return
	}
	j.clock.jobs.remove(j)
	if j.extra != nil && j.extra.over != nil {
		close(j.extra.over)
		j.extra.over = nil
	}
}

// done is called at the end of each goroutine that busy counts.
func (j *Job) done() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.busy--
	j.finishIfOver()
}
