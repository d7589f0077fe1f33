package durable

import (
	"fmt"
	"math"
	"time"
)

// Timer is a timer as stored.
type Timer struct {
	// Key is what the timer was set under.
	Key string

	// Due is when it is to fire, in nanoseconds of the wall clock, UTC.
	Due time.Time

	// Payload is what was stored with it.
	Payload []byte

	// Generation is the version. Each Set, Move and retry, and each occurrence
	// of a recurring timer, has a larger one than those before it.
	Generation uint64

	// Attempt is the number of the attempt to come: 1, or more for a retry.
	Attempt int

	// Every is how a recurring timer repeats, and zero for others.
	Every Every
}

// Firing is what a handler gets.
type Firing struct {
	Timer

	// ID names this firing: the same in all attempts, and different from all
	// other firings. A handler whose effects are kept by ID does its work once,
	// even if it is called again because its worker died before it could say
	// that it was done.
	ID string

	// Lateness is how long after its due time the handler was called.
	Lateness time.Duration
}

// pastGrace is how far in the past a due time may be, for clocks that differ and
// requests that take their time.
const pastGrace = time.Minute

// The due times that the format holds.
var (
	minDue = time.Unix(0, 0)
	maxDue = time.Unix(0, math.MaxInt64)
)

// dueAfter returns when d after now is, or the latest due time if that is earlier.
func dueAfter(now time.Time, d time.Duration) int64 {
	if d > maxDue.Sub(now) {
		return maxDue.UnixNano()
	}
	return now.Add(d).UnixNano()
}

func checkKey(key string) error {
	if key == "" || len(key) > MaxKeySize {
		shown := key
		if len(shown) > 32 {
			shown = shown[:32] + "..."
		}
		return fmt.Errorf("%w: key %q of %d bytes (expected: 1 to %d)", ErrInvalid, shown, len(key), MaxKeySize)
	}
	return nil
}

func checkDue(due, now time.Time) error {
	if due.Before(now.Add(-pastGrace)) {
		return fmt.Errorf("%w: due time %s is in the past (expected: after %s)", ErrInvalid,
			due.Format(time.RFC3339Nano), now.Add(-pastGrace).Format(time.RFC3339Nano))
	}
	if due.Before(minDue) || due.After(maxDue) {
		return fmt.Errorf("%w: due time %s (expected: up to %s)", ErrInvalid,
			due.Format(time.RFC3339Nano), maxDue.UTC().Format(time.RFC3339))
	}
	return nil
}
