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
// The timers of this module keep more promises than these methods state; see the
// package documentation. A Timer that wraps one of them, to collect metrics or
// traces for example, may wrap the tasks and the Timeouts, too: then a task gets
// another handle than the caller of NewTimeout. The packages of this module that
// take a Timer do not compare handles.
type Timer interface {
	// NewTimeout schedules task to run once, delay from now. A delay of zero
	// or less expires at the next opportunity. A deadline past the range of the
	// clock never comes.
	//
	// It returns [ErrNilTask] if task is nil, [ErrStopped] after Stop, and a
	// *[PendingLimitError] if the timer's limit of pending timeouts is reached.
	// On an error nothing is scheduled and the Timeout is nil.
	//
	// It panics if the timer was made in another testing/synctest bubble than the
	// caller's, or outside it, as far as that shows.
	NewTimeout(task TimerTask, delay time.Duration) (Timeout, error)

	// Stop makes the timer refuse new timeouts, cancels the pending ones, and
	// returns them. Every call after the first returns nothing.
	//
	// It may be called from anywhere, including from within a task.
	Stop() []Timeout
}

// Engine is implemented by the Timer of every engine package.
type Engine interface {
	Timer

	// AfterFunc is NewTimeout for a function. If f is nil, it returns
	// [ErrNilTask].
	AfterFunc(delay time.Duration, f func()) (Timeout, error)

	// NewTimeouts schedules the tasks to run once each, delay from now, and returns
	// their timeouts in the same order. It schedules all or none: on an error,
	// which is one of those of NewTimeout, nothing is scheduled. Against Stop it is
	// one call: Stop precedes all of them or none. It costs less than as many calls
	// of NewTimeout.
	NewTimeouts(tasks []TimerTask, delay time.Duration) ([]Timeout, error)

	// Start starts the workers, which the first timeouts do otherwise. It has no
	// effect after Start or Stop, or on an engine without workers. A timer with
	// workers panics in another synctest bubble, as NewTimeout does.
	Start()

	// Shutdown differs from Stop in how it waits: for the tasks that run, for what
	// the executor has accepted, and for the notices of cancelled timeouts, until
	// ctx ends. Then the contexts of each [ContextTask] end, and it returns a
	// *[ShutdownError] beside what was pending. If Stop was called before, Shutdown
	// returns no timeouts, and waits for what is left.
	//
	// A task that calls it on the timer's own goroutine does not wait for itself,
	// nor for tasks on the timer's other goroutines. A task on an executor waits
	// for itself, and so until ctx ends.
	Shutdown(ctx context.Context) ([]Timeout, error)

	// Pending returns how many timeouts have not ended. A timeout that is
	// cancelled leaves the count before its Cancel returns, and one that expires
	// before its task runs.
	Pending() int64

	// All returns an iterator over the pending timeouts, in no particular order. It
	// yields each at most once, and every one that stays pending throughout. One
	// that is scheduled or ends meanwhile may be yielded or not.
	//
	// The loop may call anything: no lock is held while its body runs. Between
	// calls of the body, a lock is held for at most 1,024 timeouts at a time. Loops
	// may run at once and nest. Their memory does not grow with what is pending, as
	// long as at most 15 run on one timer.
	All() iter.Seq[Timeout]

	// Stats returns a snapshot of the timer's counts.
	Stats() Stats
}

// Timeout is the handle of a task that was scheduled. All methods are safe for
// concurrent use and never wait for a task. Each engine states their cost.
//
// A Timeout ends once, in one of three ways: it expires and its task runs, it
// is cancelled, or Stop finds it pending and returns it.
type Timeout interface {
	// Timer returns the timer that made this timeout.
	Timer() Timer

	// Task returns the task given to NewTimeout.
	Task() TimerTask

	// Deadline returns when the timeout is due, or was due if it has ended: the
	// present plus the time left. That is exact by the monotonic clock. The wall
	// time of the result is that of the present wall clock, so it is right even
	// if that was set since. A timeout that never comes due has the zero Time.
	Deadline() time.Time

	// IsExpired reports whether the timeout expired. It returns true from before
	// the task runs.
	IsExpired() bool

	// IsCancelled reports whether the timeout was cancelled, by Cancel or by
	// the timer's Stop.
	IsCancelled() bool

	// Cancel prevents the task from running. It returns true once, and only if
	// the task never ran and never will. It returns false after expiry, after
	// another Cancel, and after Stop.
	Cancel() bool

	// Reset changes the deadline of a pending timeout to delay from now, where
	// delay has the same meaning as in NewTimeout. It returns false, and changes
	// nothing, once the timeout has ended: it never revives. It panics in another
	// synctest bubble, as NewTimeout does.
	Reset(delay time.Duration) bool
}

// TimerTask is the code that a Timeout runs when it expires.
type TimerTask interface {
	// Run is called once, after the timeout expired, with the Timeout that
	// NewTimeout returned. An error it returns, or a *[PanicError] if it panics,
	// goes to the timer's error handler.
	Run(timeout Timeout) error
}

// TaskFunc makes a TimerTask of a function.
type TaskFunc func(timeout Timeout) error

// Run calls f(timeout).
func (f TaskFunc) Run(timeout Timeout) error { return f(timeout) }

// ContextTask is a function with a context that ends, with [ErrStopped] as its cause,
// when the timer no longer waits for the task: when its Shutdown returns an error or
// its Stop gives up. It has no deadline and no values.
type ContextTask func(ctx context.Context, timeout Timeout) error

// Run calls f. The context is that of the timeout's timer, if that has a method
// TaskContext() context.Context, as the engines have; a Timer that wraps one should
// pass it on. Otherwise, and without a timeout, it is [context.Background].
func (f ContextTask) Run(timeout Timeout) error {
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

	// Cancelled is called once after [Timeout.Cancel] returned true, within two
	// ticks, and where the task itself would have run. It is not called for
	// timeouts that [Timer.Stop] returns.
	Cancelled(timeout Timeout)
}

// RefusedTask is a TimerTask that handles the refusals of the timer's executor.
type RefusedTask interface {
	TimerTask

	// Refused is called, on the goroutine that called the executor's Execute, if
	// that returned an error, panicked or ended its goroutine. err wraps the
	// error. An error that Refused returns goes to the timer's error handler, so
	// it may return err itself; nil means that the refusal is handled.
	//
	// Run is not called, unless the executor breaks its rules: one that panics
	// after it accepted the task may still call it.
	Refused(timeout Timeout, err error) error
}

// Executor runs tasks elsewhere than on the timer's own goroutine. A worker pool
// becomes one with a single line; see the example.
type Executor interface {
	// Execute arranges for task to be called, now or later. If it returns an
	// error, task is never called; the error goes to the timer's error handler,
	// or first to a [RefusedTask].
	//
	// Execute should not block. A timer with a worker calls it there, and as long
	// as it blocks no other task runs. So a pool that is full should return an
	// error rather than wait for room: ants does with its option WithNonblocking.
	// Package runtimetimer calls Execute on a goroutine of the timeout's own,
	// where it may block.
	Execute(task func()) error
}
