package durable

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// env is the part of a Store that its Works share: the database, its clock, and the counters.
type env struct {
	backend backend.Backend // Immutable, as are limits and options.
	limits  backend.Limits
	options Options
	clock   dbClock
	counts  counts
	doubt   atomic.Int64 // time of the last call that failed
}

// untilDue returns the time until a row is due on the database's clock.
func (e *env) untilDue(r *backend.Row) time.Duration { return time.Duration(r.Due - e.clock.nanos()) }

// inDoubt reports whether a call has failed in the last seconds: the database may store its
// effect later.
func (e *env) inDoubt() bool { return e.clock.nanos()-e.doubt.Load() < int64(sweepEvery) }

// isNear reports whether a row with this due time must be announced.
func (e *env) isNear(due int64) bool {
	return due-e.clock.nanos() <= int64(e.limits.Lead+nearSlack)
}

// trouble notes an error of the database after which a worker tries again.
func (e *env) trouble(message string, err error, args ...any) {
	e.backend.Trouble().Note(e.options.Logger, message, err.Error(), err, args...)
}

// nearSlack covers the time that it takes to store a row: its due time may come within
// the lead before the row is stored.
const nearSlack = time.Second

// endWithin is the time that the end of Work gives the database for each of its last calls.
const endWithin = 5 * time.Second
