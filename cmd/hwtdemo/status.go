package main

import "errors"

// The exit statuses.
const (
	statusOK          = 0
	statusFailed      = 1
	statusUsage       = 2
	statusInterrupted = 130 // as shells report a program that Ctrl-C ended
)

// usageError is a mistake in the command line.
type usageError struct{ error }

// Unwrap returns the error itself.
func (e usageError) Unwrap() error { return e.error }

// Errors that are not written, because all was written before. They only decide
// the exit status.
var (
	errSilent      = errors.New("written before")
	errFailed      = silent{statusFailed}
	errInterrupted = silent{statusInterrupted}
)

type silent struct{ status int }

// Error returns the text of errSilent.
func (silent) Error() string { return errSilent.Error() }

// Is reports whether target is errSilent.
func (silent) Is(target error) bool { return target == errSilent }

// statusOf returns the exit status for an error.
func statusOf(err error) int {
	var s silent
	if errors.As(err, &s) {
		return s.status
	}
	if errors.As(err, new(usageError)) {
		return statusUsage
	}
	return statusFailed
}
