// Package runtimetimer is an engine of package hwt on Go's own timers. The engine has no
// tick: a task starts as soon after the deadline as the runtime allows, on a new goroutine
// or on an executor.
//
//	timer, err := runtimetimer.New(nil)
//	...
//	timeout, err := timer.AfterFunc(30*time.Second, func() { giveUp(request) })
//	...
//	timeout.Cancel() // the answer came
//
// Use this engine for few timeouts, for precise timeouts, and for tasks that block, since
// no task delays another. The timer has no goroutine, and uses no CPU between timeouts.
// Very many timeouts cost more than on a wheel: the runtime keeps timers in heaps, a
// pending timeout takes several times the memory, and a very large number of timeouts with
// the same deadline run late. docs/engines.md in the repository compares the engines.
//
// # Cost
//
// Every timeout is a [time.AfterFunc]. With n pending timeouts, [Timer.NewTimeout] and
// Reset of a [hwt.Timeout] take O(log n) time, and Cancel O(1). NewTimeout makes one
// allocation of 48 bytes, or four without a runtime timer to reuse; Reset and Cancel do not
// allocate. A pending timeout takes 220 to 245 bytes of heap; a bare time.AfterFunc takes
// 130 to 145. The difference keeps the contract: Stop returns the pending timeouts, and
// each timeout ends once and knows the deadline.
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

var (
	_ hwt.Engine     = (*Timer)(nil)
	_ hwt.EventTimer = (*Timer)(nil)
)

var _ = enginekit.RegisterEnded(func(timer hwt.Timer) (<-chan struct{}, bool) {
	t, ok := timer.(*Timer)
	if !ok {
		return nil, false
	}
	return t.ended, true
})

// Timer is a timer on Go's own timers. Create it with [New]. All methods are safe for
// concurrent use, including from within a task.
//
// A Timer has no goroutine. A Timer without pending timeouts is garbage collected like
// any other value.
type Timer struct {
	clock  enginekit.Clock   // Counts from New, time zero of all deadlines.
	runner *enginekit.Runner // Immutable after New.
	limit  *enginekit.Limit  // Safe for concurrent use.
	shards []shard           // Immutable after New; a power of two of them.

	callers  enginekit.Callers // Immutable after New. Options.RecordCallers.
	stopWait time.Duration     // Immutable after New. Options.StopTimeout, 0 if off.
	stopped  atomic.Bool       // Atomic: written by Stop, read by NewTimeout, for good under a shard's mu.
	ended    chan struct{}     // Closed by Stop.
	stop     sync.Once         // Lets later calls of Stop wait until the first has drained.
	running  running           // See there.
}

// New returns a timer with the given options; nil means the defaults. If a field is outside its
// range, New returns an error that names the field, the value and the range.
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

		callers:  enginekit.Callers(options.RecordCallers),
		stopWait: check.OrOff(options.StopTimeout, defaultStopTimeout),
		running:  running{none: make(chan struct{})},
		ended:    make(chan struct{}),
	}
	runner.Submitted, runner.Running = t.countSubmitted, t.countRunning
	t.clock.Start()
	for i := range t.shards {
		t.shards[i].init(t)
	}
	return t, nil
}

// NewTimeout schedules a task to run once, delay from now, on a new goroutine or on
// the timer's executor.
//
// NewTimeout returns [hwt.ErrNilTask], [hwt.ErrStopped] or a *[hwt.PendingLimitError], and
// the task then never runs. If Stop is called concurrently, NewTimeout returns
// hwt.ErrStopped, or the timeout ends first, or Stop returns it.
//
// With n pending timeouts, NewTimeout takes O(log n) time. It makes one allocation of 48
// bytes, or four without a runtime timer to reuse. NewTimeout blocks only while another
// call holds the same shard of the timer.
func (t *Timer) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	if enginekit.IsNilTask(task) {
		return nil, hwt.ErrNilTask
	}
	t.check()
	if t.stopped.Load() {
		return nil, hwt.ErrStopped // Before the limit, because rejected calls take a place briefly.
	}
	deadline := t.clock.Deadline(delay) // Before the counts change, because it may panic.
	if err := t.limit.Take(1); err != nil {
		return nil, err
	}
	s := t.anyShard()
	n := s.newTimeout(task, t.callers.Caller())
	if !s.add(n, delay, deadline) {
		t.limit.Give(1)
		return nil, hwt.ErrStopped
	}
	return n, nil
}

// AfterFunc is [Timer.NewTimeout] for a function. If f is nil, it returns
// [hwt.ErrNilTask].
func (t *Timer) AfterFunc(delay time.Duration, f func()) (hwt.Timeout, error) {
	return t.NewTimeout(enginekit.Func(f), delay)
}

// Start has no effect, since the timer has no worker.
func (t *Timer) Start() { t.check() }

// Stop makes the timer reject new timeouts, cancels the pending timeouts, and returns them
// in no particular order. With n pending timeouts, Stop takes O(n) time. Every call after
// the first returns an empty slice.
//
// Stop waits for running tasks and callbacks of hwt.CancelledTask, but no longer than
// Options.StopTimeout. Stop does not wait if called from a task of any Timer of this
// package, or in a synctest bubble for a timer made outside the bubble. Stop may be called
// from anywhere, with one exception: see [hwt.Timer]. Tasks queued in an executor may still
// start after Stop.
func (t *Timer) Stop() []hwt.Timeout {
	unprocessed := t.halt()
	t.await()
	return unprocessed
}

// Shutdown is like [Timer.Stop], but also waits for the executor, and at most until ctx
// ends. See [hwt.Engine] for its error.
//
// A task that calls Shutdown does not wait for itself, or for other tasks that call Shutdown. A
// task on an executor waits for itself, until ctx ends. Shutdown knows that the calling
// goroutine runs a task, but not which Timer's, and treats a task of another Timer of this
// package like one of t.
func (t *Timer) Shutdown(ctx context.Context) ([]hwt.Timeout, error) {
	return t.halt(), t.awaitAll(ctx)
}

// TaskContext returns the context that each [hwt.ContextTaskFunc] receives. See
// [hwt.Engine].
func (t *Timer) TaskContext() context.Context {
	t.check()
	return t.runner.TaskContext()
}

// check panics if t is a zero Timer.
func (t *Timer) check() {
	if len(t.shards) == 0 {
		panic(enginekit.UseNew)
	}
}

// halt rejects new timeouts and ends the pending ones. It panics outside the timer's
// bubble, as engines with a worker must, unless the timer is stopped.
func (t *Timer) halt() (unprocessed []hwt.Timeout) {
	t.check()
	if t.clock.Foreign() && !t.stopped.Load() {
		t.clock.CheckSide()
	}
	t.stop.Do(func() {
		t.stopped.Store(true) // Linearization point against NewTimeout.
		defer close(t.ended)
		for i := range t.shards {
			unprocessed = t.shards[i].drain(unprocessed)
		}
		t.noteDrained()
	})
	return unprocessed
}

// Pending returns the number of pending timeouts. It takes O(GOMAXPROCS) time. See
// [hwt.Engine].
func (t *Timer) Pending() int64 {
	t.check()
	n, _ := enginekit.Between(t.countAccepted, t.countEnded)
	return n
}

// All returns an iterator over the pending timeouts, in no particular order. See
// [hwt.Engine]. With n pending timeouts, it takes O(n) time and O(1) memory.
func (t *Timer) All() iter.Seq[hwt.Timeout] {
	t.check()
	return func(yield func(hwt.Timeout) bool) {
		var batch []*timeout
		for i := range t.shards {
			if !t.shards[i].all(&batch, yield) {
				return
			}
		}
	}
}

// Stats returns a snapshot of the timer's counts. The counts of ticks and of a worker
// stay zero. Stats takes O(GOMAXPROCS) time.
func (t *Timer) Stats() hwt.Stats {
	t.check()
	stats := t.count()
	stats.Rejected = t.limit.Rejected()
	t.runner.AddTo(&stats)
	return stats
}

// String returns the timer's name and its number of pending timeouts.
func (t *Timer) String() string {
	t.check()
	return fmt.Sprintf("runtimetimer.Timer(%s, %d pending)", t.runner.Name, t.Pending())
}

func (t *Timer) countAccepted() (n int64) {
	for i := range t.shards {
		n += t.shards[i].read(func(c *counts) int64 { return c.accepted })
	}
	return n
}

func (t *Timer) countEnded() (n int64) {
	for i := range t.shards {
		n += t.shards[i].read(func(c *counts) int64 { return c.expired + c.cancelled + c.unprocessed })
	}
	return n
}

// count returns counts of timeouts that fit each other.
func (t *Timer) count() (stats hwt.Stats) {
	var accepted, ended int64
	enginekit.Between(func() int64 {
		accepted = t.countAccepted()
		return accepted
	}, func() int64 {
		stats = hwt.Stats{}
		for i := range t.shards {
			t.shards[i].addTo(&stats)
		}
		ended = stats.Expired + stats.Cancelled + stats.Unprocessed
		return ended
	})
	stats.Accepted = max(accepted, ended) // what has ended since was accepted, too
	stats.Pending = stats.Accepted - ended
	return stats
}

// anyShard returns a random shard. A hash of the timeout would spread timeouts no
// better, and would need unsafe.
func (t *Timer) anyShard() *shard {
	return &t.shards[rand.Uint64()&uint64(len(t.shards)-1)]
}
