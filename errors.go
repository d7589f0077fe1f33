package hwt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashedwheel/hwt/internal/check"
)

// ErrInvalid is the error, by [errors.Is], of every option and argument that is out of
// range, in all packages of this module. The text of the error names the value and the
// valid range.
var ErrInvalid = check.ErrInvalid

// Errors of [Timer.NewTimeout]. Test for them with [errors.Is].
var (
	// ErrStopped is returned after [Timer.Stop].
	ErrStopped = errors.New("hwt: timer is stopped")

	// ErrNilTask is returned if the task is nil. It matches ErrInvalid.
	ErrNilTask = check.Errorf("hwt: task is nil")

	// ErrTooManyPending is returned if the timer's pending limit is reached. The
	// error is a *[PendingLimitError].
	ErrTooManyPending = errors.New("hwt: too many pending timeouts")
)

// ErrGoexit is reported for a task that called [runtime.Goexit], as testing.T.FailNow
// does.
var ErrGoexit = errors.New("hwt: runtime.Goexit was called")

// PendingLimitError is returned for timeouts that would exceed the timer's pending limit.
// It matches [ErrTooManyPending] by errors.Is.
type PendingLimitError struct {
	Pending int64 // number of pending timeouts, including the rejected ones
	Max     int64 // the limit

	// Cancelled is positive if too many cancelled timeouts caused the rejection: it is the
	// number of cancelled timeouts with a [CancelledTask] that has not been notified. Max is
	// then the limit of cancelled timeouts, and Pending is zero.
	Cancelled int64
}

// Error returns the message of Netty's RejectedExecutionException, with both numbers.
func (e *PendingLimitError) Error() string {
	if e.Cancelled > 0 {
		return fmt.Sprintf("hwt: number of cancelled timeouts that wait for their notification (%d) is "+
			"greater than or equal to maximum allowed (%d)", e.Cancelled, e.Max)
	}
	return fmt.Sprintf("hwt: number of pending timeouts (%d) is greater than or equal to "+
		"maximum allowed pending timeouts (%d)", e.Pending, e.Max)
}

// Is reports whether target is [ErrTooManyPending].
func (e *PendingLimitError) Is(target error) bool { return target == ErrTooManyPending }

// ShutdownError is the error of an [Engine.Shutdown] if the context ended before all tasks and
// callbacks had returned. A ShutdownError wraps the context's error.
type ShutdownError struct {
	Running int64 // tasks and callbacks that have started
	Waiting int64 // tasks and callbacks that wait for the executor or the timer's worker

	// Tasks names the tasks that occupy the timer's workers, as the log names them. A
	// worker is also occupied while the executor's Execute blocks.
	Tasks []string

	Err error // of the context
}

// Error returns a message with all fields.
func (e *ShutdownError) Error() string {
	text := fmt.Sprintf("hwt: shutdown left %d running and %d waiting", e.Running, e.Waiting)
	if len(e.Tasks) > 0 {
		text += " (worker: " + strings.Join(e.Tasks, ", ") + ")"
	}
	return fmt.Sprintf("%s: %v", text, e.Err)
}

// Unwrap returns the error of the context.
func (e *ShutdownError) Unwrap() error { return e.Err }

// PanicError wraps the value that a task panicked with.
type PanicError struct {
	Value any    // the argument of panic
	Stack []byte // the stack of the panic, as [runtime/debug.Stack] formats it
}

// Error returns a message with the value, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("hwt: panic: %v", e.Value) }

// Unwrap returns the value if it is an error, and nil otherwise.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
