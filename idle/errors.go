package idle

import (
	"errors"
	"fmt"
	"io"
	"net"
)

// Reasons of a close by the reaper. Later errors of the connection match them by
// errors.Is.
var (
	// ErrIdle means that there was no activity for the idle timeout.
	ErrIdle = errors.New("idle: closed because of inactivity")

	// ErrTooOld means that Options.MaxAge was reached.
	ErrTooOld = errors.New("idle: closed at its maximum age")

	// ErrClosed means that the reaper was closed with Options.CloseAll set. A closed
	// reaper that is asked to watch something also reports it to Options.ErrorHandler.
	ErrClosed = errors.New("idle: reaper is closed")
)

// closedError is the error of an operation that failed during or after a close by
// the reaper.
type closedError struct {
	reason error
	err    error // the connection's error
}

var _ net.Error = (*closedError)(nil)

// Error returns the reason and the connection's error.
func (e *closedError) Error() string { return fmt.Sprintf("%v: %v", e.reason, e.err) }

// Unwrap returns both errors.
func (e *closedError) Unwrap() []error { return []error{e.reason, e.err} }

// Timeout reports whether the connection's error is a timeout. A close by the reaper
// is not a timeout, because retrying is useless.
func (e *closedError) Timeout() bool {
	var own net.Error
	return errors.As(e.err, &own) && own.Timeout()
}

// Temporary implements net.Error.
func (e *closedError) Temporary() bool { return false }

// explain adds the reason to the error of an operation if the reaper has ended w. io.EOF
// stays unwrapped: the peer sent it, and callers compare errors with io.EOF.
func (w *Watch) explain(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if reason := w.Err(); reason != nil {
		return &closedError{reason, err}
	}
	return err
}
