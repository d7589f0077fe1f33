package cache

import (
	"errors"

	"github.com/hashedwheel/hwt/internal/check"
)

// Errors of Set and GetOrFetch; test for them with [errors.Is]. Errors of the timer's
// NewTimeout are returned unchanged: [hwt.ErrStopped] and
// [hwt.ErrTooManyPending].
var (
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("cache: cache is closed")

	// ErrInvalidKey is returned for a key that a map cannot find again: a key that is unequal
	// to itself (a NaN) or cannot be hashed (a slice in an interface).
	ErrInvalidKey = check.Errorf("cache: key is unequal to itself or cannot be hashed")

	// ErrRecursion is returned to a fetch that calls GetOrFetch for the key of the fetch.
	ErrRecursion = errors.New("cache: fetch calls GetOrFetch for its own key")
)

// errBubble is returned if the time is before the cache's start: in a testing/synctest
// bubble, if the cache was made outside the bubble.
var errBubble = errors.New("cache: made outside this synctest bubble: make the cache inside it")
