package hwt

import "time"

// Timer schedules tasks for one-time execution in the future. All methods are
// safe for concurrent use, also from inside a task.
//
// It is Netty's io.netty.util.Timer for Go.
type Timer interface {
	// NewTimeout schedules task to run once, delay from now. A delay of zero
	// or less runs at the next opportunity; one past the clock's range never
	// comes due.
	//
	// It returns ErrNilTask if task is nil, ErrStopped after Stop, and a
	// *PendingLimitError if the timer has a limit of pending timeouts and it
	// is reached. On an error nothing was scheduled and the Timeout is nil.
	NewTimeout(task TimerTask, delay time.Duration) (Timeout, error)

	// Stop makes the timer refuse new timeouts, cancels the pending ones, and
	// returns them. Every call after the first returns nothing.
	//
	// It may be called from anywhere, also from inside a task.
	Stop() []Timeout
}

// Timeout is the handle of a task that was scheduled. All methods are safe for
// concurrent use, take constant time and do not block.
//
// A Timeout ends once, in one of three ways: it expires and its task runs, it
// is cancelled, or Stop finds it pending and returns it.
type Timeout interface {
	// Timer returns the timer that made this timeout.
	Timer() Timer

	// Task returns the task given to NewTimeout.
	Task() TimerTask

	// IsExpired reports whether the timeout came due. It is true already while
	// the task runs.
	IsExpired() bool

	// IsCancelled reports whether the timeout was cancelled, by Cancel or by
	// the timer's Stop.
	IsCancelled() bool

	// Cancel prevents the task from running. It returns true exactly once, and
	// only if the task never ran and never will; false after expiry, after
	// another Cancel, and after Stop.
	Cancel() bool

	// Reset re-arms a pending timeout to come due delay from now, with the
	// meaning delay has in NewTimeout. It returns false, and changes nothing,
	// once the timeout expired or was cancelled: it never revives.
	Reset(delay time.Duration) bool
}

// TimerTask is what a Timeout runs when it comes due.
type TimerTask interface {
	// Run is called once, after the timeout came due. An error it returns, or
	// a panic, goes to the timer's error handler.
	Run(timeout Timeout) error
}

// TaskFunc lets an ordinary function be a TimerTask.
type TaskFunc func(timeout Timeout) error

// Run calls f(timeout).
func (f TaskFunc) Run(timeout Timeout) error { return f(timeout) }

// CancelledTask is a TimerTask that wants to know when its timeout is
// cancelled.
type CancelledTask interface {
	TimerTask

	// Cancelled is called once after Cancel ended the timeout, where the task
	// itself would have run and within two ticks. It is not called for the
	// timeouts that the timer's Stop returns.
	Cancelled(timeout Timeout)
}

// Executor runs tasks somewhere else than on the timer's own goroutine. A
// worker pool becomes one with a single line; see the package's example.
type Executor interface {
	// Execute arranges for task to be called, now or later. If it returns an
	// error, task is never called; the error goes to the timer's error handler.
	Execute(task func()) error
}
