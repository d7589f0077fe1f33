package cache

import "errors"

// Errors of Set and Take; test for them with errors.Is. What the timer's
// NewTimeout returns comes as it is: hwt.ErrStopped, hwt.ErrTooManyPending.
var (
	// ErrClosed says that the cache was closed.
	ErrClosed = errors.New("cache: cache is closed")

	// ErrKey says that a key could never be found again, because it is not equal
	// to itself (a float that is not a number), or cannot be hashed (a slice in
	// an interface).
	ErrKey = errors.New("cache: key is unequal to itself or cannot be hashed")
)
