package idle

import (
	"errors"
	"fmt"
	"io"
	"net"
)

// Reasons for which a reaper closes; test for them with errors.Is.
var (
	// ErrIdle says that there was no activity for the idle timeout.
	ErrIdle = errors.New("idle: closed for being idle")

	// ErrTooOld says that the maximal age was reached, busy or not.
	ErrTooOld = errors.New("idle: closed at its maximal age")

	// ErrClosed says that the reaper was closed and told to close everything.
	ErrClosed = errors.New("idle: closed with its reaper")
)

// closedError is what an operation returns that failed because the reaper
// closed the connection, or after it did.
type closedError struct {
	cause error // one of the reasons
	err   error // what the connection returned
}

var _ net.Error = (*closedError)(nil)

// Error names the reason and then what the connection said.
func (e *closedError) Error() string { return fmt.Sprintf("%v: %v", e.cause, e.err) }

// Unwrap shows both to errors.Is and errors.As.
func (e *closedError) Unwrap() []error { return []error{e.cause, e.err} }

// Timeout implements net.Error with the connection's own answer: a reaped
// connection is gone, and trying again does not help.
func (e *closedError) Timeout() bool {
	ne, ok := errors.AsType[net.Error](e.err)
	return ok && ne.Timeout()
}

// Temporary implements net.Error.
func (e *closedError) Temporary() bool { return false }

// explain adds the reason to the error of an operation on what w watches, if
// the reaper ended w. An end of file stays what it is: it came from the peer.
func (w *Watch) explain(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if cause := w.Err(); cause != nil {
		return &closedError{cause: cause, err: err}
	}
	return err
}
