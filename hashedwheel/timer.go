// Ported to Go from HashedWheelTimer of the Netty Project, and changed.
// Copyright 2012 The Netty Project. Apache License 2.0; see NOTICE.

// Package hashedwheel is an engine of package hwt on one timing wheel, after Netty's
// HashedWheelTimer. A task never runs before its deadline. While the timer has little to
// do, a task runs at its deadline; under load, up to one tick later.
//
//	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
//	...
//	timeout, err := timer.AfterFunc(30*time.Second, func() { giveUp(request) })
//	...
//	timeout.Cancel() // the answer came
//
// Use this engine for very many timeouts, most of them cancelled or reset before they
// expire. Start with hashedwheel; docs/engines.md in the repository compares the engines.
//
// # How it works
//
// A worker goroutine advances the wheel by one bucket each tick. A new timeout
// goes into a lock-free queue. At the next tick the worker moves the queued timeouts
// to the buckets, takes cancelled and reset timeouts out of theirs, and expires
// the current bucket. A delay longer than a rotation of the wheel waits in its
// bucket for the remaining rounds.
//
// Under little load, the worker does not wait for the end of a tick. If the next occupied
// bucket has few timeouts for the next tick, the worker sleeps until the earliest deadline.
// Few are 8 timeouts, or one per millisecond of the tick, but at most 128. A new timeout
// with an earlier deadline moves the worker's alarm. A worker that is awake takes timeouts
// that are due out of a bucket with up to 128.
//
// # Choosing tick and wheel
//
// Set the tick to the greatest lateness that you can accept under load. The default,
// 100 ms, suits connections and sessions; 10 ms suits requests; 1 ms is the minimum. A
// longer tick wakes the worker less often under load. Size the wheel so that one rotation, the tick times the
// number of buckets, is about the usual delay. Longer delays cost little more, because
// they only make the buckets longer.
//
// # Cost
//
// [Timer.NewTimeout], Cancel and Reset of a [hwt.Timeout] take O(1) time for any
// number of pending timeouts. NewTimeout makes one allocation of 48 bytes; Cancel and
// Reset make none, and a reset to a later time is one atomic operation. A pending
// timeout takes about 60 bytes of heap, and an empty bucket takes 6. To bound its lag, a
// worker that falls behind makes callers help. An idle worker sleeps until a timeout is
// due.
//
// Package hwt states the promises that all engines keep; docs/migration/netty.md in
// the repository lists the differences from Netty.
package hashedwheel

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine"
	"github.com/hashedwheel/hwt/leak"
)

// Timer is a hashed wheel timer. Create one with [New]. All methods are safe for
// concurrent use, including from within a task.
type Timer struct {
	handle  engine.Handle
	options engine.Options // Immutable after New.
}

var (
	_ hwt.Engine     = (*Timer)(nil)
	_ hwt.EventTimer = (*Timer)(nil)
)

// leaks reports timers that were dropped without Stop.
var leaks = leak.NewDetector[Timer]("hashedwheel.Timer", &leak.Options{ReleaseMethod: "Stop", SamplingInterval: 1})

// New returns a timer with the given options; nil means the defaults. If a field is outside its
// range, New returns an error that names the field, the value and the range. The worker
// goroutine starts with the first timeout.
func New(options *Options) (*Timer, error) {
	o, err := complete(options)
	if err != nil {
		return nil, err
	}
	t := &Timer{options: o}
	var tracker *leak.Tracker
	if !o.DisableLeakDetection {
		tracker = leaks.Track(t)
	}
	wheel := func() engine.Wheel { return newWheel(o.TicksPerWheel) }
	t.handle.Init(t, o.Config(wheel, tracker))
	return t, nil
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

// Start starts the workers and keeps them until Stop. See [hwt.Engine].
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
// ends. See [hwt.Engine] for its error, and for calls from within a task.
func (t *Timer) Shutdown(ctx context.Context) ([]hwt.Timeout, error) { return t.handle.Shutdown(ctx) }

// TaskContext returns the context that each [hwt.ContextTaskFunc] receives. See
// [hwt.Engine].
func (t *Timer) TaskContext() context.Context { return t.handle.TaskContext() }

// Pending returns the number of pending timeouts. It takes O(GOMAXPROCS) time per
// worker. See [hwt.Engine].
func (t *Timer) Pending() int64 { return t.handle.Pending() }

// All returns an iterator over the pending timeouts, in no particular order. See [hwt.Engine].
// It takes O(n) time and O(1) memory; a slow loop body adds passes over timeouts that move
// during the loop. Beyond 15 concurrent loops per worker, each further loop copies the pending
// timeouts.
func (t *Timer) All() iter.Seq[hwt.Timeout] { return t.handle.All() }

// Stats returns a snapshot of the timer's counts. It takes O(GOMAXPROCS) time per worker.
func (t *Timer) Stats() hwt.Stats { return t.handle.Stats() }

// String returns the timer's name, tick, number of buckets and pending timeouts.
func (t *Timer) String() string {
	return fmt.Sprintf("hashedwheel.Timer(%s, tick %v, %d buckets, %d pending)",
		t.options.Name, t.options.TickDuration, t.options.TicksPerWheel, t.Pending())
}
