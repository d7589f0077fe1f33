package durable

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/durable/backend"
)

// RetryAfter returns an error for a handler to return: the entry fires again after d
// instead of after the backoff of WorkOptions. It may be wrapped. The attempt counts for
// MaxAttempts. If NotAfter is before the next attempt, the entry becomes a dead letter. A negative d is 0.
func RetryAfter(d time.Duration) error { return &later{backend.Retry, max(d, 0)} }

// Postpone returns an error for a handler to return if it is too early for the entry, which is no failure: the
// entry fires again after d, with the same ID and the same Attempt. It may be wrapped. Neither MaxAttempts nor
// OnOutcome counts the call; Stats.Postponed does. If NotAfter is before the next attempt, the entry becomes a dead
// letter with the Reason Expired. A negative d is 0.
func Postpone(d time.Duration) error { return &later{backend.Postpone, max(d, 0)} }

// later is the error of an attempt that the handler wants to repeat after a time.
type later struct {
	fate backend.Fate
	d    time.Duration
}

// Error returns the message with the delay.
func (e *later) Error() string {
	if e.fate == backend.Postpone {
		return fmt.Sprintf("durable: postponed by %v", e.d)
	}
	return fmt.Sprintf("durable: retry after %v", e.d)
}

// GiveUp returns an error for a handler to return: the entry becomes a dead letter
// without further attempts. GiveUp(nil) returns nil.
func GiveUp(err error) error {
	if err == nil {
		return nil
	}
	return &giveUp{err}
}

type giveUp struct{ err error }

// Error returns the message of the cause with a prefix.
func (e *giveUp) Error() string { return fmt.Sprintf("durable: given up: %v", e.err) }

// Unwrap returns the error given to GiveUp.
func (e *giveUp) Unwrap() error { return e.err }

// judge returns the fate of an attempt that failed with err, and the pause before a retry. If
// the context of an attempt had ended when the attempt failed, the attempt was interrupted: the
// end of the Work or of the lease may be the reason. It does not count.
func (o *WorkOptions) judge(attempt int, err error, interrupted bool) (backend.Fate, time.Duration) {
	var stop *giveUp
	var after *later
	asked := errors.As(err, &after)
	switch {
	case errors.As(err, &stop):
		return backend.Bury, 0
	case asked && after.fate == backend.Postpone:
		return after.fate, after.d
	case interrupted:
		return backend.Release, 0
	case o.MaxAttempts > 0 && attempt >= o.MaxAttempts:
		return backend.Bury, 0
	case asked:
		return after.fate, after.d
	}
	return backend.Retry, hwt.Backoff{Base: o.BaseBackoff, Max: o.MaxBackoff}.Delay(attempt)
}
