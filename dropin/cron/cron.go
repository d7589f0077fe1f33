// Package cron replaces github.com/robfig/cron/v3 when only the import path changes:
//
//	import "github.com/hashedwheel/hwt/dropin/cron" // was: "github.com/robfig/cron/v3"
//
// It has every exported name of version 3.0.1. Entries run on the wheel that the packages
// of dropin share, as jobs of package clock: a run costs no sort of all entries, and a
// step of the wall clock or a sleep of the machine is noticed.
//
// Use dropin/cron to move an existing program. New code should use package clock, with
// overlap, missed runs, jitter, names, pauses, and contexts.
//
// # Differences
//
//   - A time that a zone leaves out runs at the end of the gap, and a time that it repeats
//     runs once, as in package clock. robfig/cron skips the first and runs the second
//     twice. Hours other than "*" and "*/n" are subject to this.
//   - A search for a time passes 2100, and ends at days that a zone left out.
//     robfig/cron gives up after five years, or never ends.
//   - "TZ=UTC" without an expression is an error. robfig/cron panics.
//   - If the wall clock is set back by less than three hours, entries continue or wait as
//     package clock describes. In robfig/cron all of them wait.
//   - Runs that were missed happen once, as in robfig/cron, also after the machine slept.
//   - The logger receives no "wake".
//   - Schedules are called on the goroutines of their entries, not on one for all.
//
// An entry runs on a goroutine, and a panic ends the program unless [Recover] is in the
// chain, both as in robfig/cron.
package cron

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/dropin/internal/shared"
)

// Cron runs the jobs of its entries on schedules. Create a Cron with [New]. The methods are
// safe for concurrent use.
type Cron struct {
	chain    Chain          // Immutable after New.
	logger   Logger         // Immutable after New.
	location *time.Location // Immutable after New.
	parser   ScheduleParser // Immutable after New.

	mu      sync.Mutex
	entries []*entry      // In the order of addition. Guarded by mu.
	nextID  EntryID       // Guarded by mu.
	clock   *clock.Clock  // Set by the first start. Guarded by mu.
	stop    chan struct{} // Closed by Stop. Nil unless running. Guarded by mu.
	active  int           // Runs under way. Guarded by mu.
	waiting []func()      // Called when no run is under way. Guarded by mu.
}

// entry is an Entry with the job that runs it.
type entry struct {
	Entry            // Guarded by mu of the Cron. Next belongs to the last run.
	job   *clock.Job // Nil unless the Cron is running. Guarded by mu of the Cron.
}

// ScheduleParser is the interface of parsers of schedules.
type ScheduleParser interface {
	Parse(spec string) (Schedule, error)
}

// Job is the interface of jobs.
type Job interface {
	Run()
}

// Schedule determines the times of an entry.
type Schedule interface {
	// Next returns the first time after the given time, or the zero time if the schedule ends.
	// It is called when the entry starts and for each run.
	Next(time.Time) time.Time
}

// EntryID identifies an entry of a [Cron].
type EntryID int

// Entry is a job and its schedule.
type Entry struct {
	ID         EntryID
	Schedule   Schedule
	Next       time.Time // The next run, or zero if the Cron does not run or the schedule has no time.
	Prev       time.Time // The due time of the last run, or zero.
	WrappedJob Job       // The job in its chain.
	Job        Job       // The job that was added.
}

// Valid reports whether e is not the zero Entry.
func (e Entry) Valid() bool { return e.ID != 0 }

// New returns a Cron. By default, the time zone is [time.Local], a Cron parses as
// [ParseStandard], its chain is empty, and it logs errors to standard output.
func New(opts ...Option) *Cron {
	c := &Cron{logger: DefaultLogger, location: time.Local, parser: standardParser}
	for _, opt := range opts {
		opt(c)
	}
	return c
}

// FuncJob is a function that is a [Job].
type FuncJob func()

// Run calls f.
func (f FuncJob) Run() { f() }

// AddFunc adds a function that runs on the schedule of spec.
func (c *Cron) AddFunc(spec string, cmd func()) (EntryID, error) {
	return c.AddJob(spec, FuncJob(cmd))
}

// AddJob adds a job that runs on the schedule of spec.
func (c *Cron) AddJob(spec string, cmd Job) (EntryID, error) {
	schedule, err := c.parser.Parse(spec)
	if err != nil {
		return 0, err
	}
	return c.Schedule(schedule, cmd), nil
}

// Schedule adds a job that runs on a schedule, in the chain of c.
func (c *Cron) Schedule(schedule Schedule, cmd Job) EntryID {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nextID++
	e := &entry{Entry: Entry{ID: c.nextID, Schedule: schedule, WrappedJob: c.chain.Then(cmd), Job: cmd}}
	c.entries = append(c.entries, e)
	if c.stop != nil {
		c.begin(e, "added")
	}
	return e.ID
}

// Entries returns a snapshot of the entries. While the Cron runs, the entries are in the order of
// their next runs, and otherwise in the order of addition.
func (c *Cron) Entries() []Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Entry, len(c.entries))
	for i, e := range c.entries {
		all[i] = e.snapshot()
	}
	if c.stop != nil {
		slices.SortStableFunc(all, func(a, b Entry) int {
			if a.Next.IsZero() || b.Next.IsZero() {
				return cmp.Compare(-a.Next.Unix(), -b.Next.Unix()) // The zero time is last.
			}
			return a.Next.Compare(b.Next)
		})
	}
	return all
}

// snapshot returns the entry as it is now. Guarded by mu of the Cron.
func (e *entry) snapshot() Entry {
	now := e.Entry
	if e.job != nil {
		if next := e.job.Next(); !next.IsZero() { // Zero while a run begins.
			now.Next = next
		}
	}
	return now
}

// Location returns the time zone.
func (c *Cron) Location() *time.Location { return c.location }

// Entry returns a snapshot of the entry with the ID, or the zero Entry if there is no such
// entry.
func (c *Cron) Entry(id EntryID) Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.index(id); i >= 0 {
		return c.entries[i].snapshot()
	}
	return Entry{}
}

// index returns the place of an entry, or -1. Guarded by mu.
func (c *Cron) index(id EntryID) int {
	return slices.IndexFunc(c.entries, func(e *entry) bool { return e.ID == id })
}

// Remove removes an entry. A run of it that is under way continues.
func (c *Cron) Remove(id EntryID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.index(id)
	if i < 0 {
		return
	}
	c.entries[i].end()
	c.entries = slices.Delete(c.entries, i, i+1)
	if c.stop != nil {
		c.logger.Info("removed", "entry", id)
	}
}

// end stops the job of e. Guarded by mu of the Cron.
func (e *entry) end() {
	if e.job != nil {
		e.job.Stop()
		e.job = nil
	}
}

// Start starts c, unless it runs.
func (c *Cron) Start() { c.start() }

// Run starts c, unless it runs, and returns after Stop.
func (c *Cron) Run() {
	if stop := c.start(); stop != nil {
		<-stop
	}
}

// start starts c and returns the channel that Stop closes, or nil if c runs.
func (c *Cron) start() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		return nil
	}
	c.stop = make(chan struct{})
	if c.clock == nil {
		c.clock = shared.ClockOrOwn()
	}
	c.logger.Info("start")
	for _, e := range c.entries {
		c.begin(e, "schedule")
	}
	return c.stop
}

// Stop stops c if it runs. The returned context ends when no job runs.
func (c *Cron) Stop() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		for _, e := range c.entries {
			e.end()
		}
		close(c.stop)
		c.stop = nil
		c.logger.Info("stop")
	}
	ctx, cancel := context.WithCancel(context.Background())
	if c.active == 0 {
		cancel()
	} else {
		c.waiting = append(c.waiting, cancel)
	}
	return ctx
}

// begin starts the job of e. Guarded by mu.
func (c *Cron) begin(e *entry, message string) {
	options := clock.JobOptions{Overlap: clock.OverlapParallel}
	job, err := c.clock.ScheduleFunc(c.clockSchedule(e.Schedule), func() { c.run(e) }, &options)
	if err != nil {
		panic("cron: " + err.Error()) // The schedule is nil.
	}
	e.job, e.Next = job, job.Next()
	c.logger.Info(message, "now", time.Now().In(c.location), "entry", e.ID, "next", e.Next)
}

// run runs e on a goroutine. Package clock does not recover a panic of that goroutine.
func (c *Cron) run(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.job == nil {
		return // It was removed, or c was stopped.
	}
	e.Prev, e.Next = e.Next, e.job.Next()
	c.active++
	c.logger.Info("run", "now", time.Now().In(c.location), "entry", e.ID, "next", e.Next)
	go func() {
		defer c.done()
		e.WrappedJob.Run()
	}()
}

// done records the end of a run.
func (c *Cron) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active--; c.active > 0 {
		return
	}
	for _, cancel := range c.waiting {
		cancel()
	}
	c.waiting = nil
}

// clockSchedule returns s as a schedule of package clock. Like robfig/cron, it passes times
// in the zone of c.
func (c *Cron) clockSchedule(s Schedule) clock.Schedule {
	switch s := s.(type) {
	case *SpecSchedule:
		if spec := s.spec(c.location); spec != nil {
			return spec
		}
	case ConstantDelaySchedule:
		return s
	}
	return located{s, c.location}
}

// located is a schedule that gets times in a zone.
type located struct {
	Schedule
	zone *time.Location
}

// Next implements clock.Schedule.
func (l located) Next(t time.Time) time.Time { return l.Schedule.Next(t.In(l.zone)) }
