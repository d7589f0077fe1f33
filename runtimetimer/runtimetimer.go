// Package runtimetimer is an engine of package hwt on Go's own timers. It has no
// tick: a task starts as soon after its deadline as the runtime's timers can, on a
// goroutine of its own or on an executor.
//
//	timer, err := runtimetimer.New(nil)
//	...
//	timeout, err := timer.AfterFunc(30*time.Second, func() { giveUp(request) })
//	...
//	timeout.Cancel() // the answer came
//
// Use it for few timeouts, for precise ones, and for tasks that block: no task
// delays another. The timer has no goroutine, and uses no CPU while it waits. For
// very many timeouts use package hashedwheel or hierarchical: the runtime keeps its
// timers in heaps, a pending timeout takes several times the memory, and very many
// that are due at the same moment run late.
//
// # Cost
//
// Every timeout is a [time.AfterFunc]. [Timer.NewTimeout] and Reset of a
// [hwt.Timeout] take O(log n) time in the pending timeouts, and Cancel O(1).
// NewTimeout makes one allocation of 48 bytes, or four when no runtime timer can be
// reused; Reset and Cancel make none. A pending timeout takes about 224 bytes of
// heap, where a bare time.AfterFunc takes 136. The difference keeps the contract:
// Stop returns what was pending, each timeout ends once, and knows its deadline.
//
// Package hwt states the promises that all engines keep.
package runtimetimer

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cacheline"
	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

var _ hwt.Engine = (*Timer)(nil)

// Timer is a timer on Go's own timers. Make one with [New]. All methods are safe for
// concurrent use, including from within a task.
//
// A Timer has no goroutine, so one that is dropped with nothing pending is collected
// like any other value.
type Timer struct {
	clock  enginekit.Clock   // Counts from New, time zero of all deadlines.
	runner *enginekit.Runner // Immutable after New.
	limit  *enginekit.Limit  // Safe for concurrent use.
	shards []shard           // Immutable after New; a power of two of them.

	callers  bool          // Immutable after New. Options.RecordCallers.
	stopWait time.Duration // Immutable after New. Options.StopTimeout, 0 if off.
	stopped  atomic.Bool   // Atomic: written by Stop, read by NewTimeout, for good under a shard's mu.
	stop     sync.Once     // Lets later calls of Stop wait until the first has drained.
	running  running       // See there.
}

// New returns a timer with the given options; nil means the defaults. A field
// whose value is outside its range is an error that names the field, the value
// and the range.
func New(options *Options) (*Timer, error) {
	if options == nil {
		options = new(Options)
	}
	runner, err := options.runner()
	if err != nil {
		return nil, err
	}
	t := &Timer{
		runner: runner,
		limit:  enginekit.NewLimit(options.MaxPendingTimeouts),
		shards: make([]shard, cacheline.Stripes(shardsPerProc, maxShards)),

		callers:  options.RecordCallers,
		stopWait: check.OrOff(options.StopTimeout, DefaultStopTimeout),
		running:  running{none: make(chan struct{})},
	}
	runner.Given, runner.Running = t.countGiven, t.countRunning
	t.clock.Start()
	for i := range t.shards {
		t.shards[i].init(t)
	}
	return t, nil
}

// NewTimeout schedules a task to run once, delay from now, on a goroutine of its own
// or on the timer's executor.
//
// It returns [hwt.ErrNilTask], [hwt.ErrStopped] or a *[hwt.PendingLimitError], and
// then scheduled nothing. A call that races with Stop returns hwt.ErrStopped, or
// its timeout is in Stop's result unless it ended before.
//
// It takes O(log n) time in the pending timeouts and makes one allocation of 48
// bytes, or four when no runtime timer can be reused. It blocks only while another
// call holds the same one of the timer's shards.
func (t *Timer) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	return t.schedule(task, delay)
}

// NewTimeouts is NewTimeout for each of the tasks, all of which it schedules, or none:
// if one is nil, it returns [hwt.ErrNilTask], and if the limit of pending timeouts
// leaves no room for all, a *[hwt.PendingLimitError]. The timeouts have one deadline,
// and are in the order of their tasks. Against Stop it is a single call.
//
// It holds one of the timer's shards until all are scheduled.
func (t *Timer) NewTimeouts(tasks []hwt.TimerTask, delay time.Duration) ([]hwt.Timeout, error) {
	return t.scheduleAll(tasks, delay)
}

// AfterFunc is [Timer.NewTimeout] for a function. If f is nil, it returns
// [hwt.ErrNilTask].
func (t *Timer) AfterFunc(delay time.Duration, f func()) (hwt.Timeout, error) {
	return t.schedule(enginekit.Func(f), delay)
}

func (t *Timer) schedule(tt hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	if enginekit.IsNilTask(tt) {
		return nil, hwt.ErrNilTask
	}
	if t.stopped.Load() {
		return nil, hwt.ErrStopped // before the limit, which late calls may fill among themselves
	}
	deadline := t.deadline(delay) // before anything is counted, because it may panic
	if err := t.limit.Take(1); err != nil {
		return nil, err
	}
	s := t.anyShard()
	n := s.newTimeout(tt, t.caller())
	if !s.add(n, delay, deadline) {
		t.limit.Give(1)
		return nil, hwt.ErrStopped
	}
	return n, nil
}

// Start has no effect, since there is no worker to start.
func (t *Timer) Start() {}

// Stop makes the timer refuse new timeouts, cancels the pending ones and returns
// them in no particular order. It takes O(n) time in the pending timeouts. Every
// call after the first returns nothing.
//
// It waits for the tasks, and the callbacks of hwt.CancelledTask, that have begun,
// no longer than Options.StopTimeout, and not at all when called from a task of any
// runtimetimer. So it may be called from anywhere. What an executor has queued it
// does not wait for: that may begin after Stop.
func (t *Timer) Stop() []hwt.Timeout {
	unprocessed := t.halt()
	t.await()
	return unprocessed
}

// Shutdown differs from [Timer.Stop] in how it waits: for the tasks that run, for
// what the executor has accepted, and for the notices of cancelled timeouts, until
// ctx ends. Then it ends the context of each [hwt.ContextTaskFunc], and returns a
// *[hwt.ShutdownError] beside the timeouts that were pending. After a Stop it
// returns no timeouts, and waits for what is left, also if that Stop gave up.
//
// A task that calls it does not wait for itself, nor for other tasks that do so. A
// task that calls it on an executor waits for itself, and so until ctx ends. Since it
// takes O(1) memory to know that a goroutine runs a task, but not whose, the task of
// another Timer of this package counts as one of this.
func (t *Timer) Shutdown(ctx context.Context) ([]hwt.Timeout, error) {
	return t.halt(), t.awaitAll(ctx)
}

// TaskContext returns the context of each [hwt.ContextTaskFunc], which asks for it. It
// ends when Shutdown returns an error, or Stop gives up waiting.
func (t *Timer) TaskContext() context.Context { return t.runner.TaskContext() }

// halt refuses new timeouts and ends what is pending.
func (t *Timer) halt() (unprocessed []hwt.Timeout) {
	t.stop.Do(func() {
		t.stopped.Store(true) // Linearization point against NewTimeout.
		for i := range t.shards {
			unprocessed = t.shards[i].drain(unprocessed)
		}
		t.noteDrained()
	})
	return unprocessed
}

// Pending returns how many timeouts have not ended. A timeout that is cancelled
// leaves the count before its Cancel returns, one that expires before its task
// runs. It takes time in the number of processors.
func (t *Timer) Pending() int64 { return t.count().Pending }

// All returns an iterator over the pending timeouts, in no particular order: each at
// most once, and none missed that is pending all the while. The loop's body may call
// anything. It takes O(1) memory, and O(n) time in the pending timeouts.
func (t *Timer) All() iter.Seq[hwt.Timeout] {
	return func(yield func(hwt.Timeout) bool) {
		var batch []*timeout
		for i := range t.shards {
			if !t.shards[i].all(&batch, yield) {
				return
			}
		}
	}
}

// Stats returns a snapshot of the timer's counts. Those of ticks and of the worker
// stay zero. It takes time in the number of processors.
func (t *Timer) Stats() hwt.Stats {
	stats := t.count()
	stats.Rejected = t.limit.Rejected()
	t.runner.AddTo(&stats)
	return stats
}

// String returns the timer's name and pending timeouts.
func (t *Timer) String() string {
	return fmt.Sprintf("runtimetimer.Timer(%s, %d pending)", t.runner.Name, t.Pending())
}

func (t *Timer) count() hwt.Stats {
	var stats hwt.Stats
	for i := range t.shards {
		t.shards[i].addTo(&stats)
	}
	return stats
}

// anyShard spreads timeouts over the shards. A random one does as well as any
// hash of the timeout, and needs no unsafe.
func (t *Timer) anyShard() *shard {
	return &t.shards[rand.Uint64()&uint64(len(t.shards)-1)]
}

// deadline returns the time delay from now in nanoseconds since start, or never
// if that is past the clock's range. It panics if the caller is in another
// synctest bubble than the timer.
func (t *Timer) deadline(delay time.Duration) time.Duration {
	now := time.Duration(t.clock.Now())
	t.clock.Check(int64(now))
	if delay >= never-now {
		return never
	}
	return now + max(delay, 0)
}
