// Ported to Go from Timer, Timeout and TimerTask of the Netty Project, and changed.
// Copyright 2012 The Netty Project. Apache License 2.0; see NOTICE.

package hwt

import (
	"context"
	"iter"
	"time"
)

// Timer schedules tasks for one-time execution in the future. All methods are
// safe for concurrent use, including from within a task.
//
// It is Netty's io.netty.util.Timer for Go.
//
// The package documentation states further promises of the engines. A Timer may wrap an engine,
// for example to collect metrics or traces, and may also wrap tasks and Timeouts. A task may
// then receive a handle that differs from the result of NewTimeout. The packages of this module
// that take a Timer do not compare handles. Package hwttest checks wrappers.
type Timer interface {
	// NewTimeout schedules task to run once, delay from now. A delay of zero
	// or less expires at the next opportunity. A deadline past the range of the
	// clock is never reached.
	//
	// It returns [ErrNilTask] if task is nil, [ErrStopped] after Stop, and a
	// *[PendingLimitError] if the timer's pending limit is reached. On an error the
	// Timeout is nil, and the task never runs.
	//
	// NewTimeout panics in a testing/synctest bubble if the timer was made outside the
	// bubble, and outside a bubble if the timer was made inside a bubble.
	NewTimeout(task TimerTask, delay time.Duration) (Timeout, error)

	// Stop makes the timer reject new timeouts, cancels the pending ones, and
	// returns them. Every call after the first returns an empty slice.
	//
	// It may be called from anywhere, including from within a task, with one exception:
	// the first call panics outside a testing/synctest bubble if the timer was made
	// inside one.
	Stop() []Timeout
}

// Engine is implemented by the Timer of every engine package. It may gain methods
// in later versions; a wrapper should embed an Engine.
type Engine interface {
	Timer

	// AfterFunc is NewTimeout for a function. If f is nil, it returns
	// [ErrNilTask].
	AfterFunc(delay time.Duration, f func()) (Timeout, error)

	// NewTimeouts schedules the tasks to run once each, delay from now, and returns the
	// timeouts in the same order. NewTimeouts schedules all of the tasks, or schedules no task
	// and returns an error of NewTimeout. A concurrent Stop precedes or follows the whole
	// batch. A batch costs less than a NewTimeout per task.
	NewTimeouts(tasks []TimerTask, delay time.Duration) ([]Timeout, error)

	// Start starts the workers and keeps them until Stop. Without Start, workers start with
	// the first timeouts, and end when nothing has been pending for 50 ms. Start has no
	// effect after Stop, or on an engine without workers. In another synctest bubble, a
	// timer with workers panics as NewTimeout does.
	Start()

	// Shutdown is like Stop, but waits until ctx ends for running tasks, for tasks
	// accepted by the executor, and for notifications of cancelled timeouts. When ctx
	// ends first, Shutdown cancels TaskContext and returns a *[ShutdownError] together
	// with the timeouts that were pending. If the timer is already stopped, Shutdown
	// returns no timeouts and only waits.
	//
	// A task that calls it on the timer's own goroutine does not wait for itself, or for tasks
	// on the timer's other goroutines. The same holds for Execute, Rejected, and the error
	// handler on that goroutine. A task on an executor's goroutine waits for itself, until ctx
	// ends.
	Shutdown(ctx context.Context) ([]Timeout, error)

	// TaskContext returns the context that each [ContextTaskFunc] receives. The context is
	// cancelled, with [ErrStopped] as the cause, when Shutdown returns an error or Stop
	// gives up waiting.
	TaskContext() context.Context

	// Pending returns the number of pending timeouts. A cancelled timeout leaves the
	// count before Cancel returns, and an expired one before its task runs.
	//
	// While other goroutines schedule and end timeouts, the result is at least 0 and at most
	// the greatest number that was pending during the call. The result never exceeds a
	// pending limit, and may be too small by the number of timeouts that ended during the
	// call.
	Pending() int64

	// All returns an iterator over the pending timeouts, in no particular order. The iterator
	// yields every timeout that is pending throughout the loop exactly once. A timeout that is
	// scheduled or ends during the loop may or may not be yielded. The iterator never yields a
	// timeout twice.
	//
	// The loop body may call anything, since no lock is held meanwhile. Between calls of
	// the body, All holds a lock for at most 1,024 timeouts at a time, not counting ended
	// ones and, at the beginning, timeouts that no worker has drained. Loops may nest and
	// run concurrently. Up to 15 loops on one timer take O(1) memory each.
	All() iter.Seq[Timeout]

	// Stats returns a snapshot of the timer's counts.
	Stats() Stats
}

// Timeout is the handle of a scheduled task. All methods are safe for concurrent
// use and never wait for a task. Each engine states their cost. Timeout may gain
// methods in later versions; a wrapper should embed a Timeout.
//
// A Timeout ends once, in one of three ways: the timeout expires and the task runs, the
// timeout is cancelled, or Stop returns it.
type Timeout interface {
	// Timer returns the timer that made this timeout.
	Timer() Timer

	// Task returns the task given to NewTimeout.
	Task() TimerTask

	// Deadline returns the deadline of a pending or ended timeout, or the zero Time if
	// the timeout never expires. The result is the current time plus the remaining time
	// on the monotonic clock, so it stays correct when the wall clock is set.
	Deadline() time.Time

	// IsExpired reports whether the timeout expired. It becomes true before the task
	// runs.
	IsExpired() bool

	// IsCancelled reports whether the timeout was cancelled, by Cancel or by
	// the timer's Stop.
	IsCancelled() bool

	// Cancel prevents the task from running. Cancel returns true once, and only if the task
	// never ran and never will. Cancel returns false after expiry, another Cancel, or Stop.
	Cancel() bool

	// Reset changes the deadline of a pending timeout to delay from now, where delay has
	// the same meaning as in NewTimeout. Reset returns false and has no effect once the
	// timeout has ended. Reset panics in another synctest bubble, as NewTimeout does.
	Reset(delay time.Duration) bool
}

// TimerTask is the code that a Timeout runs when it expires.
type TimerTask interface {
	// Run is called once, after the timeout expired, with the Timeout that NewTimeout
	// returned. The error of Run, or a *[PanicError] after a panic, goes to the timer's
	// error handler.
	Run(timeout Timeout) error
}

// TaskFunc is a function that is a TimerTask.
type TaskFunc func(timeout Timeout) error

// Run calls f(timeout).
func (f TaskFunc) Run(timeout Timeout) error { return f(timeout) }

// ContextTaskFunc is a function that is a TimerTask and receives a context. The timer
// cancels the context, with [ErrStopped] as the cause, when the timer no longer waits for
// the task: when Shutdown returns an error or Stop gives up. The context has no deadline
// and no values.
type ContextTaskFunc func(ctx context.Context, timeout Timeout) error

// Run calls f with the [Engine.TaskContext] of the timeout's timer. If timeout is
// nil or its timer has no such method, the context is [context.Background].
func (f ContextTaskFunc) Run(timeout Timeout) error {
	ctx := context.Background()
	if timeout != nil {
		if timer, ok := timeout.Timer().(interface{ TaskContext() context.Context }); ok {
			ctx = timer.TaskContext()
		}
	}
	return f(ctx, timeout)
}

// CancelledTask is a TimerTask that is notified when its timeout is cancelled.
type CancelledTask interface {
	TimerTask

	// Cancelled is called once after [Timeout.Cancel] has ended the timeout, possibly
	// before Cancel returns. While the worker keeps up, the call comes within two ticks.
	// It runs on the goroutine or executor that would have run the task or, once the timer
	// has stopped, possibly on a new goroutine. Cancelled is not called for timeouts that
	// [Timer.Stop] returns.
	Cancelled(timeout Timeout)
}

// RejectedTask is a TimerTask that handles the rejections of the timer's executor.
type RejectedTask interface {
	TimerTask

	// Rejected is called if the executor's Execute returned an error, panicked or ended its
	// goroutine before the task started, on the goroutine that called Execute. err wraps the
	// cause. Rejected returns nil for a handled rejection. Otherwise the result goes to the
	// timer's error handler; the result may be err.
	//
	// Run and Rejected are never both called, even if the executor breaks its rules.
	Rejected(timeout Timeout, err error) error
}

// Executor runs tasks on goroutines other than the timer's: all tasks of a timer, by its
// Options, or one task, by [OnExecutor]. [NewPool] is a small one, and [ExecutorFunc] makes
// one of the method of a worker pool.
type Executor interface {
	// Execute calls task once, now or later. If Execute returns an error, Execute must
	// never call task. The error goes to the task if the task is a [RejectedTask] that has
	// not started, or else to the timer's error handler. Calls of task that break these
	// rules do nothing.
	//
	// Execute must be safe for concurrent use and must not block. An engine with a worker calls
	// Execute on the worker goroutine. A call that blocks delays all later timeouts of that
	// worker. The timer logs a call that has blocked for the slow-task threshold, and counts it
	// in Stats.SlowTasks. A full pool must return an error instead of waiting, as a [Pool]
	// does, and a pool of package ants with WithNonblocking. Package runtimetimer calls Execute
	// on a new goroutine, which may block.
	Execute(task func()) error
}
