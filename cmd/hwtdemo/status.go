package main

import "errors"

// The exit statuses.
const (
	statusOK          = 0
	statusFailed      = 1
	statusUsage       = 2
	statusInterrupted = 130 // what shells report of a program that Ctrl-C ended
)

// usageError is an error of whoever wrote the command line.
type usageError struct{ error }

// Unwrap returns the error itself.
func (e usageError) Unwrap() error { return e.error }

// Errors of which everything was said already are silent: they only decide the
// exit status.
var (
	errSilent      = errors.New("said already")
	errFailed      = silent{statusFailed}
	errInterrupted = silent{statusInterrupted}
)

// silent is an error that is not written.
type silent struct{ status int }

// Error names what Is compares with.
func (silent) Error() string { return errSilent.Error() }

// Is reports whether target is errSilent.
func (silent) Is(target error) bool { return target == errSilent }

// statusOf returns the exit status for an error that is not nil.
func statusOf(err error) int {
	if s, ok := errors.AsType[silent](err); ok {
		return s.status
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return statusUsage
	}
	return statusFailed
}
