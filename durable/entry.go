package durable

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Entry is one timer of a store.
type Entry struct {
	// Key identifies the entry. It has 1 to 512 bytes.
	Key string

	// Due is the time at which the entry fires, to the nanosecond, in UTC. That of a retry is
	// the end of its pause, not the time of the first attempt.
	Due time.Time

	// NotAfter is the latest time to fire. An entry that could not fire by then becomes a
	// dead letter. The zero time is no limit. A recurring entry has none: see Every.Missed.
	NotAfter time.Time

	// Payload is passed to the handler. It has at most 1 MiB.
	Payload []byte

	// Generation is the version. It grows with each Set, Move, and retry, and with each
	// occurrence of a recurring entry. See [Firing] for its use as a fence.
	Generation uint64

	// Attempt is the number of the next attempt, from 1, or of the current one in a
	// handler.
	Attempt int

	// Every is the recurrence. It is zero for a one-shot.
	Every Every
}

// Firing is the argument of a [Handler].
//
// An entry fires again, with the same ID, if its worker dies or loses its lease before
// the acknowledgement is stored. If a worker is paused between the last check of its lease
// and the handler, the handler may even run after a Cancel or a Move. To reject such a
// call, a resource compares Generation with the largest one it has seen for the key. A retry
// may follow a larger Generation, that of a later occurrence or of an entry set meanwhile:
// where handlers return errors and keys recur, compare the generations of one ID.
type Firing struct {
	Entry

	// ID identifies the firing. All attempts have the same ID, and no two firings share
	// one. A handler that records its effects by ID applies them once.
	ID string

	// Lateness is the time from Due to the call of the handler, on the database's clock.
	Lateness time.Duration

	held *held
}

// DoneTx acknowledges the firing inside tx, the transaction in which the handler stores
// its effects. If tx commits, the entry is done. If it does not, the entry fires again.
// The effects therefore take place exactly once. The handler must return an error if the
// commit fails. DoneTx returns ErrLeaseLost if another worker has taken over the entry;
// the handler must then roll back.
//
// tx is of the type that SetTx takes.
func (f Firing) DoneTx(ctx context.Context, tx any) error {
	if f.held == nil {
		return fmt.Errorf("durable: DoneTx: %w", invalid("the firing was not passed to a handler"))
	}
	if err := f.held.worker.doneTx(ctx, tx, f.held); err != nil {
		return wrap("DoneTx", f.Key, err)
	}
	return nil
}

// DeadLetter is an entry that used up its attempts or could not fire by NotAfter.
type DeadLetter struct {
	Entry
	ID      string    // ID of its firings
	Error   string    // text of the last error, up to 1 KB
	GivenUp time.Time // time of the last attempt's end
}

func entryOf(r *backend.Row) (Entry, error) {
	every, err := decodeEvery(r.Every, r.Schedule)
	if err != nil {
		return Entry{Key: r.Key}, fmt.Errorf("%w: recurrence: %w", ErrDamaged, err)
	}
	e := Entry{
		Key:        r.Key,
		Payload:    r.Payload,
		Generation: r.Generation,
		Attempt:    r.Attempt,
		Every:      every,
	}
	if r.Due != 0 { // 0 is the time of a damaged entry
		e.Due = time.Unix(0, r.Due).UTC()
	}
	if r.NotAfter != 0 {
		e.NotAfter = time.Unix(0, r.NotAfter).UTC()
	}
	return e, nil
}

func firingID(r *backend.Row) string { return fmt.Sprintf("%x-%016x", r.Origin, r.Nonce) }

const maxKeySize = 512

func checkKey(key string) error {
	if key == "" || len(key) > maxKeySize {
		return invalid("key %.32q of %d bytes (expected: 1 to %d)", key, len(key), maxKeySize)
	}
	return nil
}

// The range of due times: all positive nanoseconds of an int64, up to the year 2262.
var (
	minDue = time.Unix(0, 1)
	maxDue = time.Unix(0, math.MaxInt64)
)

// checkTime returns t in nanoseconds, or an error that names the argument.
func checkTime(name string, t time.Time) (int64, error) {
	if t.Before(minDue) || t.After(maxDue) {
		return 0, invalid("%s %s (expected: %s to %s)", name, t.Format(time.RFC3339Nano),
			minDue.UTC().Format(time.RFC3339Nano), maxDue.UTC().Format(time.RFC3339))
	}
	return t.UnixNano(), nil
}
