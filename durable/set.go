package durable

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Set stores an entry that fires at due, or immediately if due has passed. It replaces the
// key's pending entry; an entry that a worker has claimed still fires. Set returns when
// the entry is stored as durably as the store's options promise.
//
// Concurrent operations share transactions, so they cost far less than one sync each.
func (s *Store) Set(ctx context.Context, key string, due time.Time, payload []byte, options ...SetOption) (Entry, error) {
	return s.put(ctx, nil, "Set", backend.Set, nil, newEntry(key, due, payload, options))
}

// Create is Set for a key without a pending entry. It returns ErrExists if there is one.
func (s *Store) Create(ctx context.Context, key string, due time.Time, payload []byte, options ...SetOption) (Entry, error) {
	return s.put(ctx, nil, "Create", backend.Create, nil, newEntry(key, due, payload, options))
}

// SetIf is Set on the condition that the pending entry has the generation. It returns
// ErrConflict if it has another one, and ErrNotFound or ErrFired as Move does.
func (s *Store) SetIf(ctx context.Context, key string, generation uint64, due time.Time, payload []byte, options ...SetOption) (Entry, error) {
	return s.put(ctx, nil, "SetIf", backend.Set, &generation, newEntry(key, due, payload, options))
}

// SetEvery stores a recurring entry that fires first at first, or, if first is zero, at
// the schedule's first time after now. It replaces the key's pending entry. The claim of
// an occurrence stores the next one in the same transaction. Exactly one is therefore
// pending at any time, and Cancel ends the series.
//
// first must not be zero if every names a schedule that only workers know.
func (s *Store) SetEvery(ctx context.Context, key string, every Every, first time.Time, payload []byte) (Entry, error) {
	s.clock.refresh(ctx)
	first, err := every.first(first, time.Unix(0, s.clock.nanos()))
	if err != nil {
		return Entry{}, wrap("SetEvery", key, err)
	}
	return s.put(ctx, nil, "SetEvery", backend.Set, nil, Entry{Key: key, Due: first, Payload: payload, Every: every})
}

// Move changes the due time of the key's pending entry, which gets a new generation and a
// new ID. It returns ErrNotFound if there is no pending entry, ErrFired if a worker has
// claimed it, and ErrInvalid if due is after NotAfter. If Move returns nil, the entry
// fires only at the new time.
func (s *Store) Move(ctx context.Context, key string, due time.Time) (Entry, error) {
	return s.move(ctx, nil, "Move", key, nil, due)
}

// MoveIf is Move on the condition that the pending entry has the generation. It returns
// ErrConflict if it has another one.
func (s *Store) MoveIf(ctx context.Context, key string, generation uint64, due time.Time) (Entry, error) {
	return s.move(ctx, nil, "MoveIf", key, &generation, due)
}

// Cancel deletes the key's pending entry and its waiting retries, and returns the entry.
// If Cancel returns nil, the entry never fires. Cancel returns ErrNotFound if there is no
// pending entry, and ErrFired if a worker has claimed it. Of a recurring entry, an occurrence
// that a worker has claimed still fires, and is retried, while Cancel ends the series.
//
// If an entry of the key is damaged, Cancel deletes it with the others, also if a worker that is
// gone had claimed it. Of the returned Entry, only the Key is set then; the other fields are
// zero.
func (s *Store) Cancel(ctx context.Context, key string) (Entry, error) {
	return s.cancel(ctx, nil, "Cancel", key, nil)
}

// CancelIf is Cancel for the pending entry or waiting retry of that generation only. It
// returns ErrConflict if the pending entry has another one, and ErrDamaged if an entry of the
// key is damaged.
func (s *Store) CancelIf(ctx context.Context, key string, generation uint64) (Entry, error) {
	return s.cancel(ctx, nil, "CancelIf", key, &generation)
}

func newEntry(key string, due time.Time, payload []byte, options []SetOption) Entry {
	e := Entry{Key: key, Due: due, Payload: payload}
	for _, option := range options {
		option(&e)
	}
	return e
}

// put stores an entry in a transaction of the caller, if tx is not nil, and on the condition that
// the pending entry has the generation, if that is not nil. So do move and cancel.
func (s *Store) put(ctx context.Context, tx *any, name string, kind backend.Kind, generation *uint64, e Entry) (Entry, error) {
	row, err := s.row(e)
	if err != nil {
		return Entry{}, wrap(name, e.Key, err)
	}
	return s.apply(ctx, tx, name, generation, backend.Op{Kind: kind, Row: row})
}

func (s *Store) move(ctx context.Context, tx *any, name, key string, generation *uint64, due time.Time) (Entry, error) {
	nanos, err := checkTime("due time", due)
	if err != nil {
		return Entry{}, wrap(name, key, err)
	}
	row := backend.Row{Key: key, Due: nanos, Nonce: newNonce()}
	return s.apply(ctx, tx, name, generation, backend.Op{Kind: backend.Move, Row: row})
}

func (s *Store) cancel(ctx context.Context, tx *any, name, key string, generation *uint64) (Entry, error) {
	return s.apply(ctx, tx, name, generation, backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: key}})
}

// row returns the row for an entry that is set.
func (s *Store) row(e Entry) (row backend.Row, err error) {
	if err := checkKey(e.Key); err != nil {
		return row, err
	}
	if len(e.Payload) > s.limits.MaxPayload {
		return row, invalid("payload of %d bytes (expected: up to %d)", len(e.Payload), s.limits.MaxPayload)
	}
	row = backend.Row{
		Key:     e.Key,
		Payload: bytes.Clone(e.Payload), // a worker may hold it after the call
		Attempt: 1,
		Nonce:   newNonce(),
	}
	if row.Due, err = checkTime("due time", e.Due); err != nil {
		return row, err
	}
	if err := e.Every.check(); err != nil {
		return row, err
	}
	if !e.NotAfter.IsZero() {
		if !e.Every.isZero() {
			return row, invalid("NotAfter of a recurring entry (expected: Every.Missed)")
		}
		if row.NotAfter, err = checkTime("NotAfter", e.NotAfter); err != nil {
			return row, err
		}
		if row.NotAfter < row.Due {
			return row, invalid("NotAfter %s (expected: %s, the due time, or later)",
				e.NotAfter.Format(time.RFC3339Nano), e.Due.Format(time.RFC3339Nano))
		}
	}
	row.Every, row.Schedule = e.Every.encode()
	return row, nil
}

// apply performs one operation.
func (s *Store) apply(ctx context.Context, tx *any, name string, generation *uint64, op backend.Op) (Entry, error) {
	var in any // the transaction
	var results []backend.Result
	err := checkKey(op.Row.Key)
	if err == nil && tx != nil {
		in, err = *tx, s.checkTx(*tx)
	}
	if err == nil && generation != nil {
		if op.If = *generation; op.If == 0 {
			err = invalid("generation 0 (expected: the Generation of an Entry)")
		}
	}
	if err == nil {
		results, err = s.applyAll(ctx, in, []backend.Op{op})
	}
	if err == nil {
		err = results[0].Err
	}
	var e Entry
	if err == nil {
		e, err = entryOf(&results[0].Row)
		if op.Kind == backend.Cancel || op.Kind == backend.Discard { // it is deleted, damaged or not
			err = nil
		}
	}
	if err != nil {
		return Entry{}, wrap(name, op.Row.Key, err)
	}
	e.Payload = bytes.Clone(e.Payload) // a worker may hold that of the row
	return e, nil
}

// applyAll performs operations, counts them, and passes near entries to workers. The database
// announces those that no worker of this process takes.
func (s *Store) applyAll(ctx context.Context, tx any, ops []backend.Op) ([]backend.Result, error) {
	if tx == nil { // a transaction may hold the last connection
		s.clock.refresh(ctx)
	}
	here := tx == nil && s.working()
	for i := range ops {
		switch ops[i].Kind {
		case backend.Set, backend.Create, backend.Move, backend.Requeue:
			ops[i].Announce = !here && s.isNear(ops[i].Row.Due)
		}
	}
	results, err := s.backend.Apply(ctx, tx, ops)
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
		if here && ops[i].Kind != backend.Cancel && ops[i].Kind != backend.Discard && s.isNear(r.Row.Due) {
			near = append(near, r.Row)
		}
	}
	if len(near) > 0 && len(s.offer(near)) > 0 {
		s.backend.Announce()
	}
	return results, nil
}

// newNonce returns the random part of a firing's ID.
func newNonce() uint64 { return rand.Uint64() }
