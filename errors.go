package hwt

import (
	"errors"
	"fmt"
)

// Errors that NewTimeout returns; test for them with errors.Is.
var (
	// ErrStopped says that the timer was stopped and takes no new timeouts.
	ErrStopped = errors.New("hwt: timer is stopped")

	// ErrNilTask says that the task given was nil.
	ErrNilTask = errors.New("hwt: task is nil")

	// ErrTooManyPending says that the timer's limit of pending timeouts is
	// reached. The error itself is a *PendingLimitError.
	ErrTooManyPending = errors.New("hwt: too many pending timeouts")
)

// ErrGoexit is what the error handler gets of a task that ended its goroutine by
// runtime.Goexit, as testing.T.FailNow does.
var ErrGoexit = errors.New("hwt: task called runtime.Goexit")

// PendingLimitError is the refusal of a timeout that would have exceeded the
// timer's limit of pending timeouts. It is an ErrTooManyPending.
type PendingLimitError struct {
	Pending int64 // what the count would have become
	Max     int64 // what the timer allows
}

// Error names both figures, in the words of Netty's RejectedExecutionException.
func (e *PendingLimitError) Error() string {
	return fmt.Sprintf("hwt: number of pending timeouts (%d) is greater than or equal to "+
		"maximum allowed pending timeouts (%d)", e.Pending, e.Max)
}

// Is reports whether target is ErrTooManyPending.
func (e *PendingLimitError) Is(target error) bool { return target == ErrTooManyPending }

// PanicError is what a panicking task becomes on its way to the error handler.
type PanicError struct {
	Value any    // what the task panicked with
	Stack []byte // where, as runtime/debug.Stack prints it
}

// Error names the value the task panicked with; the stack is in Stack.
func (e *PanicError) Error() string { return fmt.Sprintf("hwt: task panicked: %v", e.Value) }

// Unwrap returns the value if it is an error, so that errors.Is sees it.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
