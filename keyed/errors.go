package keyed

import (
	"errors"
	"fmt"
)

// Errors that the methods of Wheel return; test for them with errors.Is. What
// the timer's NewTimeout returns comes as it is: hwt.ErrStopped,
// hwt.ErrTooManyPending.
var (
	// ErrClosed says that the wheel was stopped.
	ErrClosed = errors.New("keyed: wheel is stopped")

	// ErrKey says that a key could never be found again, because it is not equal
	// to itself (a float that is not a number), or cannot be hashed (a slice in
	// an interface).
	ErrKey = errors.New("keyed: key is unequal to itself or cannot be hashed")
)

// DrainError says that callbacks of a Drain failed. The other pairs were drained
// all the same.
type DrainError struct {
	Failed  int   // how many callbacks failed
	Drained int   // how many pairs were drained, these included
	First   error // a *hwt.PanicError, unless the callback ended its goroutine
}

// Error tells how many callbacks failed, and how one of them did.
func (e *DrainError) Error() string {
	return fmt.Sprintf("keyed: %d of %d drain callbacks failed, the first with: %v", e.Failed, e.Drained, e.First)
}

// Unwrap returns First.
func (e *DrainError) Unwrap() error { return e.First }
