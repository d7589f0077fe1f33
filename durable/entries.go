package durable

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Entries has the operations on entries. The Entries of a [Store] run each call in its own
// transaction. The Entries of a [Tx] run it inside the transaction of the caller. Functions
// that take Entries leave the choice to their callers. The zero value returns ErrInvalid.
type Entries struct {
	store      *Store
	tx         backend.Tx // nil outside of a transaction
	generation uint64     // that If requires, or 0
	err        error      // of every call
}

// If returns e with a condition for Set, Move, and Cancel: the pending entry must have the
// generation. These methods return ErrConflict if it has another generation, ErrNotFound if
// there is no pending entry, and ErrFired if a worker has claimed the entry. Cancel also finds
// a waiting retry of that generation. The other methods return ErrInvalid.
func (e Entries) If(generation uint64) Entries {
	if e.generation = generation; generation == 0 {
		e.err = invalid("generation 0 (expected: the Generation of an Entry)")
	}
	return e
}

// Set stores an entry that fires at its Due time, or immediately if that has passed. It
// returns the stored entry. Set replaces the pending entry of the key, an overdue occurrence
// included: see Ensure. An entry that a worker has claimed still fires, as does the last occurrence of
// a series that waits for its next attempt. Set returns when the entry is stored as durably as the
// store's options promise.
//
// A recurring entry without a Due time fires first at the first time of its Spec after now. The
// claim of an occurrence stores the next one in the same transaction. Exactly one occurrence is
// pending at any time, and Cancel ends the series.
//
// Concurrent calls share transactions. They cost far less than one sync each.
func (e Entries) Set(ctx context.Context, entry Entry) (Entry, error) {
	return e.put(ctx, "Set", backend.Set, entry)
}

// Create is Set for a key without a pending entry. It returns ErrExists if there is one. A claimed entry,
// the handler of which may run, is not pending: Create then stores a second entry.
func (e Entries) Create(ctx context.Context, entry Entry) (Entry, error) {
	if err := e.unconditional(); err != nil {
		return Entry{}, wrap("Create", entry.Key, err)
	}
	return e.put(ctx, "Create", backend.Create, entry)
}

// Move changes the due time of the key's pending entry. The entry gets a new generation and a
// new ID, and its attempts count from 1. Move to [time.Now] runs a series now: the occurrences after it stay at the
// times of a cron expression, and follow from the new time for "@every". Move returns ErrNotFound if there is no pending entry, ErrFired if a worker has claimed
// it, and ErrInvalid if due is after NotAfter. If Move returns nil, the entry fires only at the
// new time.
func (e Entries) Move(ctx context.Context, key string, due time.Time) (Entry, error) {
	nanos, err := checkTime("due time", due)
	if err != nil {
		return Entry{}, wrap("Move", key, err)
	}
	return e.apply(ctx, "Move", backend.Op{Kind: backend.Move, Row: backend.Row{Key: key, Due: nanos, Nonce: newNonce()}})
}

// Cancel deletes the key's pending entry and its waiting retries, and returns the entry.
// If Cancel returns nil, the entry never fires. Cancel returns ErrNotFound if there is no
// pending entry, and ErrFired if a worker has claimed it. Of a recurring entry, an occurrence
// that a worker has claimed still fires, and is retried, while Cancel ends the series. In a
// transaction, the answer is final once the transaction has committed.
//
// If an entry of the key is damaged, Cancel without If deletes it with the others, even if a
// worker that is gone had claimed it. The returned Entry then has only the Key.
func (e Entries) Cancel(ctx context.Context, key string) (Entry, error) {
	return e.apply(ctx, "Cancel", backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: key}})
}

// Get returns the key's pending entry. It returns ErrNotFound if the key has no entry, and
// ErrFired if a worker has claimed it.
func (e Entries) Get(ctx context.Context, key string) (Entry, error) {
	row, err := e.pending(ctx, key)
	var entry Entry
	if err == nil {
		entry, err = entryOf(&row)
	}
	if err != nil {
		return Entry{}, wrap("Get", key, err)
	}
	return entry, nil
}

// pending reads the row that Get returns.
func (e Entries) pending(ctx context.Context, key string) (row backend.Row, err error) {
	if err = e.unconditional(); err == nil {
		err = checkKey(key)
	}
	switch {
	case err != nil:
		return row, err
	case e.tx != nil:
		row, err = e.tx.Get(ctx, key)
	default:
		row, err = e.store.backend.Get(ctx, key)
	}
	if err == nil && row.State == backend.Claimed {
		err = ErrFired
	}
	return row, err
}

// Requeue turns a dead letter into a pending entry that is due now, with the same ID, a full
// number of attempts, and no NotAfter. Of several concurrent calls, one succeeds. Requeue
// returns ErrNotFound if there is no such dead letter, and ErrExists if the key has a pending
// entry. An occurrence of a recurring entry is revived in addition to its series.
func (e Entries) Requeue(ctx context.Context, key string, generation uint64) (Entry, error) {
	if err := e.unconditional(); err != nil {
		return Entry{}, wrap("Requeue", key, err)
	}
	row := backend.Row{Key: key, Due: e.now(ctx)}
	return e.apply(ctx, "Requeue", backend.Op{Kind: backend.Requeue, Row: row, If: generation})
}

// Discard deletes a dead letter, even a damaged one. It returns ErrNotFound if there is no such
// dead letter.
func (e Entries) Discard(ctx context.Context, key string, generation uint64) error {
	err := e.unconditional()
	if err != nil {
		return wrap("Discard", key, err)
	}
	_, err = e.apply(ctx, "Discard", backend.Op{Kind: backend.Discard, Row: backend.Row{Key: key}, If: generation})
	return err
}

// check returns the error of a view that no method accepts.
func (e Entries) check() error {
	if e.store == nil {
		return invalid("zero Entries (expected: the Entries of a Store or a Tx)")
	}
	return e.err
}

// unconditional is check for methods that take no condition.
func (e Entries) unconditional() error {
	if err := e.check(); err != nil {
		return err
	}
	if e.generation != 0 {
		return invalid("If(%d) (expected: a condition only for Set, Move, and Cancel)", e.generation)
	}
	return nil
}

// now returns the database's time. In a transaction it does not ask the database: the
// transaction may hold the last connection.
func (e Entries) now(ctx context.Context) int64 {
	if e.tx == nil {
		e.store.clock.refresh(ctx)
	}
	return e.store.clock.nanos()
}

// put stores an entry.
func (e Entries) put(ctx context.Context, name string, kind backend.Kind, entry Entry) (Entry, error) {
	row, err := e.row(ctx, entry)
	if err != nil {
		return Entry{}, wrap(name, entry.Key, err)
	}
	return e.apply(ctx, name, backend.Op{Kind: kind, Row: row})
}

// row returns the row for an entry to store.
func (e Entries) row(ctx context.Context, entry Entry) (row backend.Row, err error) {
	if err := e.check(); err != nil {
		return row, err
	}
	if entry.Due.IsZero() && !entry.Every.isZero() {
		if entry.Due, err = entry.Every.first(time.Unix(0, e.now(ctx))); err != nil {
			return row, err
		}
	}
	return entry.row(e.store.limits.MaxPayload)
}

// apply performs one operation.
func (e Entries) apply(ctx context.Context, name string, op backend.Op) (Entry, error) {
	err := e.check()
	if err == nil {
		err = checkKey(op.Row.Key)
	}
	if e.generation != 0 {
		op.If = e.generation
	}
	var entry Entry
	if err == nil {
		entry, err = e.applyOne(ctx, op)
	}
	if err != nil {
		return Entry{}, wrap(name, op.Row.Key, err)
	}
	return entry, nil
}

func (e Entries) applyOne(ctx context.Context, op backend.Op) (Entry, error) {
	results, err := e.applyAll(ctx, []backend.Op{op})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return Entry{}, err
	}
	entry, err := entryOf(&results[0].Row)
	if op.Kind == backend.Cancel || op.Kind == backend.Discard { // it is deleted, damaged or not
		err = nil
	}
	entry.Payload = bytes.Clone(entry.Payload) // a worker may hold the payload of the row
	return entry, err
}

// applyAll performs operations, counts them, and passes near entries to workers. The database
// announces those that no worker of this process takes.
func (e Entries) applyAll(ctx context.Context, ops []backend.Op) ([]backend.Result, error) {
	s := e.store
	if e.tx == nil {
		s.clock.refresh(ctx)
	}
	here := e.tx == nil && s.works.take()
	for i := range ops {
		if ops[i].Kind.Stores() {
			ops[i].Announce = !here && s.isNear(ops[i].Row.Due)
		}
	}
	apply := s.backend.Apply
	if e.tx != nil {
		apply = e.tx.Apply
	}
	results, err := apply(ctx, ops)
	if err != nil {
		s.doubt.Store(s.clock.nanos())
		return nil, err
	}
	var near []backend.Row
	for i, r := range results {
		if r.Err != nil {
			continue
		}
		s.counts.op(ops[i].Kind)
		if here && ops[i].Kind.Stores() && s.isNear(r.Row.Due) {
			near = append(near, r.Row)
		}
	}
	if len(near) > 0 && len(s.works.offer(near)) > 0 {
		s.backend.Announce()
	}
	return results, nil
}

// Ensure stores an entry unless the key has a pending entry with the same recurrence. It is
// the way to register a series, or an entry that must exist, at each start of a service: an
// occurrence that became due while no worker ran stays and fires, as [Every.Missed] says.
//
// If the pending entry has the same Spec and the same Schedule as entry, the due time stays. If
// its Payload, NotAfter, Missed, Overlap, Group, or Headers differ, they are replaced. If the recurrence
// differs, entry replaces the pending entry, as Set does. Ensure reports whether it has changed
// anything.
func (e Entries) Ensure(ctx context.Context, entry Entry) (stored Entry, changed bool, err error) {
	for changed = false; ; {
		stored, changed, err = e.ensure(ctx, entry)
		if !errors.Is(err, ErrExists) && !errors.Is(err, ErrConflict) && !errors.Is(err, errOvertaken) {
			break
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
			break
		}
	}
	if err != nil {
		return Entry{}, false, wrap("Ensure", entry.Key, err)
	}
	return stored, changed, nil
}

// errOvertaken reports that a concurrent call has changed the entry that ensure had read.
var errOvertaken = errors.New("the entry has changed")

// ensure is one try of Ensure.
func (e Entries) ensure(ctx context.Context, entry Entry) (Entry, bool, error) {
	held, err := e.pending(ctx, entry.Key)
	if absent := errors.Is(err, ErrNotFound) || errors.Is(err, ErrFired); err != nil && !absent {
		return Entry{}, false, err
	} else if absent {
		row, err := e.row(ctx, entry)
		if err != nil {
			return Entry{}, false, err
		}
		stored, err := e.applyOne(ctx, backend.Op{Kind: backend.Create, Row: row})
		return stored, true, err
	}
	old, err := entryOf(&held)
	if err != nil {
		return Entry{}, false, err
	}
	same := old.Every.Spec == entry.Every.Spec && old.Every.Schedule == entry.Every.Schedule
	if same {
		entry.Due = old.Due
	}
	row, err := e.row(ctx, entry)
	if err != nil {
		return Entry{}, false, err
	}
	if same {
		row.Attempt, row.Origin, row.Nonce = held.Attempt, held.Origin, held.Nonce // the same firing
		if row.Last = held.Last; row.Every != "" {
			row.NotAfter = held.NotAfter
		}
		if row.Every == held.Every && row.NotAfter == held.NotAfter && row.Group == held.Group &&
			row.Headers == held.Headers && bytes.Equal(row.Payload, held.Payload) {
			old.Payload = bytes.Clone(old.Payload)
			return old, false, nil
		}
	}
	stored, err := e.applyOne(ctx, backend.Op{Kind: backend.Set, Row: row, If: held.Generation})
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrFired) {
		err = errOvertaken
	}
	return stored, true, err
}
