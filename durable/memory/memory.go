// Package memory keeps durable entries in memory, for tests of programs that use durable. It needs
// no file and no server, and works in [testing/synctest] bubbles. It keeps the rules of the
// databases, transactions included. A Work polls as on a database, so a test of many fake hours takes
// seconds.
package memory

import (
	"context"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

// Store is a store in memory. Close discards its entries.
type Store struct {
	*durable.Store
	db *memdb.DB
}

// Open returns an empty store. It returns an error for options out of range.
func Open(ctx context.Context, options *durable.Options) (*Store, error) {
	db := memdb.New()
	if options != nil {
		db.Logger = options.Logger
	}
	store, err := durable.New(ctx, db, options)
	if err != nil {
		return nil, err
	}
	return &Store{store, db}, nil
}

// Tx is a transaction on a [Store].
type Tx struct{ tx *memdb.Tx }

// ErrTxDone is returned by the methods of a transaction after Commit and Rollback.
var ErrTxDone = memdb.ErrTxDone

// Begin begins a transaction. As on SQLite, all other writes to the store and other calls of Begin wait while it is
// open, firings included: a write outside of the transaction in the same goroutine waits until its context ends. A
// wait of a second is logged. The transaction is rolled back when ctx ends.
func (s *Store) Begin(ctx context.Context) (*Tx, error) {
	tx, err := s.db.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &Tx{tx}, nil
}

// Tx returns the operations inside a transaction that Begin has begun on s.
func (s *Store) Tx(tx *Tx) durable.Tx {
	if tx == nil || tx.tx.DB() != s.db {
		return durable.NewTx(s.Store, nil)
	}
	return durable.NewTx(s.Store, tx.tx)
}

// Commit commits the transaction: its entries are stored, and workers look for them.
func (x *Tx) Commit() error { return x.tx.Commit() }

// Rollback rolls the transaction back. After Commit, it has no effect and returns ErrTxDone.
func (x *Tx) Rollback() error { return x.tx.Rollback() }
