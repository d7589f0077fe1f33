package keyed

import (
	"errors"
	"fmt"

	"github.com/hashedwheel/hwt/internal/check"
)

// Errors of the methods of [Wheel] that set, move, or drain; test for them with
// [errors.Is]. The other methods find no pair in these cases. Errors of the timer's
// NewTimeout are returned unchanged: [hwt.ErrStopped] and [hwt.ErrTooManyPending].
var (
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("keyed: wheel is closed")

	// ErrInvalidKey is returned for a key that a map cannot find again: a key that is unequal
	// to itself (a NaN) or cannot be hashed (a slice in an interface).
	ErrInvalidKey = check.Errorf("keyed: key is unequal to itself or cannot be hashed")
)

// DrainError is the error of a Drain with failed callbacks. All pairs were drained
// nevertheless.
type DrainError struct {
	Failed  int   // number of callbacks that failed
	Drained int   // number of pairs drained, including failed pairs
	First   error // of the first failed callback: a *[hwt.PanicError] or [hwt.ErrGoexit]
}

// Error returns the number of failed callbacks and the error of the first.
func (e *DrainError) Error() string {
	return fmt.Sprintf("keyed: %d of %d drain callbacks failed, the first with: %v", e.Failed, e.Drained, e.First)
}

// Unwrap returns First.
func (e *DrainError) Unwrap() error { return e.First }
