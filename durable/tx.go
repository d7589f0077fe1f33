package durable

import (
	"context"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Tx runs the operations of [Entries] inside a transaction of the caller on the store's
// database: an entry is stored, and announced to the workers, if and only if the transaction
// commits. The method Tx of the store of durable/sqlite, durable/postgres, or durable/memory
// returns one. While the transaction is open, use the Tx for writes to the store: on SQLite and in memory,
// writes by the store wait for its end. After an error, the transaction remains usable unless the database has aborted
// it.
type Tx struct{ Entries }

// NewTx returns the view of a transaction on the database of s. It is for authors of backends.
// If tx is nil, because the caller's is nil or of another database, each method of the view
// returns ErrInvalid.
func NewTx(s *Store, tx backend.Tx) Tx {
	view := Tx{Entries{store: s, tx: tx}}
	if tx == nil {
		view.err = invalid("transaction nil, or of another store (expected: a transaction on the database of this store)")
	}
	return view
}

// Done acknowledges a firing inside the transaction in which the handler stores its effects. If
// the transaction commits, the entry is done. If it does not, the entry fires again. The
// effects take place exactly once. The handler must return an error if the commit fails: after a
// nil error the entry is done in any case. An error after the commit changes
// nothing: the outcome is Succeeded, unless the lease has ended or the database does not answer. OnOutcome then
// tells the handler's error, though the entry is done. Done returns ErrLeaseLost if another worker has taken over the entry; the handler must then roll
// back.
func (x Tx) Done(ctx context.Context, f Firing) error {
	err := x.check()
	if err == nil && f.completer == nil {
		err = invalid("the firing was not passed to a handler")
	}
	if err == nil && f.completer.env != x.store.env {
		err = invalid("the firing of another store")
	}
	if err == nil {
		err = f.completer.finishTx(ctx, x.tx, f.flight)
	}
	if err != nil {
		return wrap("Done", f.Key, err)
	}
	return nil
}
