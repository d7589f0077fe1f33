// Package hierarchical is an engine of package hwt on wheels of wheels, after the timing
// wheels of Kafka. A task never runs before its deadline. While the timer has little to do,
// a task runs at its deadline; under load, up to one tick later.
//
//	timer, err := hierarchical.New(nil) // ticks of 1 ms
//	...
//	retry, err := timer.AfterFunc(20*time.Millisecond, func() { send(request) })
//	deletion, err := timer.AfterFunc(30*24*time.Hour, func() { remove(account) })
//
// Use this engine for very many timeouts with delays that vary widely, or that are long
// compared with the tick. The wheel need not be sized for the usual delay. docs/engines.md in
// the repository compares the engines.
//
// # How it works
//
// The lowest level is a wheel with one bucket per tick. Each level above has the same
// number of buckets, and each bucket spans the whole level below. A level is created when a
// delay first needs it: with the defaults, 64 ticks of 1 ms, the levels reach 64 ms, 4 s, 4
// minutes, 4.7 hours, 12 days, and 2 years. A timeout is stored on the lowest level that
// reaches the deadline. A delay queue holds the buckets in use, and the worker sleeps from
// one to the next. When a bucket of an upper level is due, the timeouts of the bucket move
// to lower levels, until each expires at its tick.
//
// # Cost
//
// [Timer.NewTimeout], and Cancel and Reset of a [hwt.Timeout], take O(1) time for any
// number of pending timeouts. NewTimeout allocates 48 bytes; Cancel and Reset allocate
// nothing, and a Reset to a later time is one atomic operation. A pending timeout takes
// about 64 bytes of heap. For each level of a timeout's cascade, the worker spends O(1)
// time, or O(log b) if the timeout is the first in a bucket and b buckets are in use.
//
// A cascade delays the other tasks of the tick, so cascades are bounded: a bucket takes 1024
// timeouts, and further ones go to finer buckets directly. A level takes 48 bytes per bucket
// for the life of the timer, 3 KiB with the defaults.
//
// Package hwt states the promises that all engines keep.
package hierarchical

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/leak"
)

// Timer is a hierarchical wheel timer. Create one with [New]. All methods are safe
// for concurrent use, including from within a task.
type Timer struct {
	handle  engine.Handle
	options engine.Options // Immutable after New.
	levels  *atomic.Int64  // Atomic: written by the wheel, read by Levels also after Stop has dropped the wheel.
}

var (
	_ hwt.Engine     = (*Timer)(nil)
	_ hwt.EventTimer = (*Timer)(nil)
)

// leaks reports timers that were dropped without Stop.
var leaks = leak.NewDetector[Timer]("hierarchical.Timer", &leak.Options{ReleaseMethod: "Stop", SamplingInterval: 1})

// New returns a timer with the given options; nil means the defaults. If a field is out of
// range, the error names the field, the value and the range. The worker goroutine starts with
// the first timeout.
func New(options *Options) (*Timer, error) {
	o, err := complete(options)
	if err != nil {
		return nil, err
	}
	t := &Timer{options: o, levels: new(atomic.Int64)}
	t.init(func() engine.Wheel { return newWheel(o.TicksPerWheel, t.levels) })
	return t, nil
}

// init gives the timer wheels. Tests wrap the wheels.
func (t *Timer) init(newWheel func() engine.Wheel) {
	var tracker *leak.Tracker
	if !t.options.DisableLeakDetection {
		tracker = leaks.Track(t)
	}
	t.handle.Init(t, t.options.Config(newWheel, tracker))
}

// NewTimeout schedules task to run once, delay from now; under load, up to one tick later. A
// delay of zero or less expires immediately or, under load, at the next tick. The clock's range
// ends 73 years after New; a later deadline is never reached.
//
// If the task is not scheduled, the error is [hwt.ErrNilTask], [hwt.ErrStopped], or a
// *[hwt.PendingLimitError]. If Stop is called concurrently, NewTimeout returns
// hwt.ErrStopped, or the timeout ends first, or Stop returns it.
//
// NewTimeout makes one allocation of 48 bytes, takes O(1) time, and never waits for tasks.
// If callers schedule faster than the worker can follow, NewTimeout occasionally sleeps for
// up to 10 ms.
func (t *Timer) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	return t.handle.NewTimeout(task, delay)
}

// NewTimeouts schedules all of the tasks or none, as [hwt.Engine] describes. The timeouts
// have one deadline.
//
// NewTimeouts makes one allocation of 48 bytes per task, and one for the result. A batch
// costs less than a NewTimeout per task, except for very small batches. With several
// workers, a batch of 2,048 or more is divided among them, with at least 1,024 timeouts
// each.
func (t *Timer) NewTimeouts(tasks []hwt.TimerTask, delay time.Duration) ([]hwt.Timeout, error) {
	return t.handle.NewTimeouts(tasks, delay)
}

// AfterFunc is [Timer.NewTimeout] for a function. If f is nil, it returns
// [hwt.ErrNilTask].
func (t *Timer) AfterFunc(delay time.Duration, f func()) (hwt.Timeout, error) {
	return t.handle.AfterFunc(delay, f)
}

// InitEvent implements [hwt.Event.Init]. Arm and Cancel of the event take O(1) time and
// allocate nothing. Like NewTimeout, an Arm occasionally sleeps for up to 10 ms if callers
// schedule faster than the worker can follow.
func (t *Timer) InitEvent(event *hwt.Event, task hwt.TimerTask) error {
	return engine.InitEvent(&t.handle, event, task)
}

// Start starts the workers and keeps the workers until Stop. See [hwt.Engine].
func (t *Timer) Start() { t.handle.Start() }

// Stop makes the timer reject new timeouts, cancels the pending timeouts, and returns them
// in no particular order. Stop takes O(n) time in the pending timeouts. Every call after
// the first returns nothing.
//
// Stop waits until the workers and tasks on the workers have ended, but no longer than
// Options.StopTimeout; tasks that take longer keep running. Stop does not wait if called
// from a task on a worker, and a task of another worker may then still start. Stop does not
// wait in a synctest bubble for a timer made outside the bubble. Stop may be called from
// anywhere, with one exception: see [hwt.Timer]. Tasks queued in an executor may still
// start after Stop.
func (t *Timer) Stop() []hwt.Timeout { return t.handle.Stop() }

// Shutdown is like [Timer.Stop], but also waits for the executor, and at most until ctx
// ends. See [hwt.Engine] for the error, and for calls from within a task.
func (t *Timer) Shutdown(ctx context.Context) ([]hwt.Timeout, error) { return t.handle.Shutdown(ctx) }

// TaskContext returns the context that each [hwt.ContextTaskFunc] receives. See
// [hwt.Engine].
func (t *Timer) TaskContext() context.Context { return t.handle.TaskContext() }

// Pending returns the number of pending timeouts. Pending takes O(GOMAXPROCS) time per
// worker. See [hwt.Engine].
func (t *Timer) Pending() int64 { return t.handle.Pending() }

// Levels returns the number of levels of the timer: one at first, and more when a delay
// needs them, from the tick after NewTimeout or Reset on. Levels are never removed. Levels
// takes O(1) time.
func (t *Timer) Levels() int {
	if t.levels == nil {
		panic(enginekit.UseNew)
	}
	return int(t.levels.Load())
}

// All returns an iterator over the pending timeouts, in no particular order. See [hwt.Engine].
// The iterator takes O(n) time and O(1) memory; a slow loop body adds passes over timeouts
// that move during the loop. Beyond 15 concurrent loops per worker, each further loop copies
// the pending timeouts.
func (t *Timer) All() iter.Seq[hwt.Timeout] { return t.handle.All() }

// Stats returns a snapshot of the timer's counts. Stats takes O(GOMAXPROCS) time per
// worker.
func (t *Timer) Stats() hwt.Stats { return t.handle.Stats() }

// String returns the timer's name, tick, number and size of levels, and pending
// timeouts.
func (t *Timer) String() string {
	return fmt.Sprintf("hierarchical.Timer(%s, tick %v, %d levels of %d buckets, %d pending)",
		t.options.Name, t.options.TickDuration, t.Levels(), t.options.TicksPerWheel, t.Pending())
}
