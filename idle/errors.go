package idle

import (
	"errors"
	"fmt"
	"io"
	"net"
)

// Reasons for which a reaper closes. Operations of the connection that fail
// afterwards return them, by errors.Is.
var (
	// ErrIdle means that there was no activity for the idle timeout.
	ErrIdle = errors.New("idle: closed for being idle")

	// ErrTooOld means that Options.MaxAge was reached.
	ErrTooOld = errors.New("idle: closed at its maximal age")

	// ErrCloseAll means that the reaper was closed, and had Options.CloseAll.
	ErrCloseAll = errors.New("idle: closed with its reaper")
)

// ErrClosed is the error that [Options.ErrorHandler] gets when something is
// given to a closed reaper, which does not watch it.
var ErrClosed = errors.New("idle: reaper is closed")

// closedError is the error of an operation that failed during or after a close
// by the reaper.
type closedError struct {
	reason error
	err    error // of the connection
}

var _ net.Error = (*closedError)(nil)

// Error returns the reason and the connection's own error.
func (e *closedError) Error() string { return fmt.Sprintf("%v: %v", e.reason, e.err) }

// Unwrap returns both.
func (e *closedError) Unwrap() []error { return []error{e.reason, e.err} }

// Timeout reports what the connection's own error does. A connection closed by
// the reaper is not a timeout, because it is no use to try again.
func (e *closedError) Timeout() bool {
	var own net.Error
	return errors.As(e.err, &own) && own.Timeout()
}

// Temporary implements net.Error.
func (e *closedError) Temporary() bool { return false }

// explain adds the reason to the error of an operation if the reaper has ended w.
// It leaves io.EOF as it is, since callers compare it, and it came from the peer.
func (w *Watch) explain(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if reason := w.Err(); reason != nil {
		return &closedError{reason, err}
	}
	return err
}
