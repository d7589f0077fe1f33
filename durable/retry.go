package durable

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashedwheel/hwt"
)

// RetryAfter returns an error for a handler to return: the entry fires again after d
// instead of after the backoff of WorkOptions. It may be wrapped. MaxAttempts still
// applies. A negative d is 0.
func RetryAfter(d time.Duration) error { return &retryAfter{max(d, 0)} }

type retryAfter struct{ d time.Duration }

// Error returns the message with the delay.
func (e *retryAfter) Error() string { return fmt.Sprintf("durable: retry after %v", e.d) }

// GiveUp returns an error for a handler to return: the entry becomes a dead letter
// without further attempts.
func GiveUp(err error) error { return &giveUp{err} }

type giveUp struct{ err error }

// Error returns the message of the cause with a prefix.
func (e *giveUp) Error() string { return fmt.Sprintf("durable: given up: %v", e.err) }

// Unwrap returns the error given to GiveUp.
func (e *giveUp) Unwrap() error { return e.err }

// backoff returns the pause after the attempt that failed with err, and false if there
// is no further attempt.
func (o *WorkOptions) backoff(attempt int, err error) (time.Duration, bool) {
	var stop *giveUp
	if errors.As(err, &stop) || o.MaxAttempts > 0 && attempt >= o.MaxAttempts {
		return 0, false
	}
	var after *retryAfter
	if errors.As(err, &after) {
		return after.d, true
	}
	return hwt.Backoff{Base: o.BaseBackoff, Max: o.MaxBackoff}.Delay(attempt), true
}
