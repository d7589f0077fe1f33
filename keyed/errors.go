package keyed

import (
	"errors"
	"fmt"
)

// Errors that the methods of [Wheel] return; test for them with [errors.Is].
// Errors of the timer's NewTimeout are returned unchanged: [hwt.ErrStopped] and
// [hwt.ErrTooManyPending].
var (
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("keyed: wheel is closed")

	// ErrKey is returned for a key that a map could never find again: it is not
	// equal to itself (a NaN), or cannot be hashed (a slice in an interface).
	ErrKey = errors.New("keyed: key is unequal to itself or cannot be hashed")
)

// DrainError is the error of a Drain some of whose callbacks failed. The other
// pairs were drained all the same.
type DrainError struct {
	Failed  int   // number of callbacks that failed
	Drained int   // number of pairs drained, including those that failed
	First   error // of one that failed: a *[hwt.PanicError] or [hwt.ErrGoexit]
}

// Error returns how many callbacks failed, and the error of one of them.
func (e *DrainError) Error() string {
	return fmt.Sprintf("keyed: %d of %d drain callbacks failed, the first with: %v", e.Failed, e.Drained, e.First)
}

// Unwrap returns First.
func (e *DrainError) Unwrap() error { return e.First }
