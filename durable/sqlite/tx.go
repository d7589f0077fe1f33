package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// Tx returns the operations on entries inside a transaction of [Store.DB]. They see the effects
// of the transaction, and a ROLLBACK TO undoes them as any other statement. After the end
// of the transaction, they return an error that wraps sql.ErrTxDone.
func (s *Store) Tx(tx *sql.Tx) durable.Tx {
	if tx == nil {
		return durable.NewTx(s.Store, nil)
	}
	return durable.NewTx(s.Store, view{s.backend.writer, tx})
}

// DB returns the store's file as a database of package database/sql, for the program's own
// tables. It has the settings of the store, and each call returns the same one. [Store.Tx] takes
// its transactions.
//
// Each write waits for its turn among the writes of the store: it never fails because another
// write is under way. While a transaction of DB is open, other writes wait, firings included:
// keep it short. When the context of a transaction ends, the transaction rolls back. A
// transaction of a reader, with sql.TxOptions.ReadOnly, delays no write.
//
// Close of the store rolls an open transaction back, after the call under way, and closes the
// database. The driver is github.com/ncruces/go-sqlite3/driver. It registers the name "sqlite3", as
// mattn/go-sqlite3 does: a program with both needs the linker flag of the driver's documentation.
func (s *Store) DB() *sql.DB {
	d := s.backend.database
	d.dbMu.Lock()
	defer d.dbMu.Unlock()
	if d.db == nil {
		d.db = sql.OpenDB(d)
		if d.queue.failure() != nil {
			d.db.Close()
		}
	}
	return d.db
}

// view implements backend.Tx.
type view struct {
	w  *writer
	tx *sql.Tx
}

// use runs f on the connection of the transaction.
func (v view) use(ctx context.Context, f func(*sqlConn, *txn) error) error {
	op := &operation{writer: v.w, ctx: ctx, run: f}
	_, err := v.tx.ExecContext(context.WithValue(ctx, operationKey{}, op), "SELECT 1 -- an operation of durable/sqlite")
	if op.found {
		return op.err
	}
	if err == nil {
		err = fmt.Errorf("%w: transaction on another database (expected: one of Store.DB)", backend.ErrInvalid)
	}
	return err
}

// Apply implements backend.Tx.
func (v view) Apply(ctx context.Context, ops []backend.Op) ([]backend.Result, error) {
	var results []backend.Result
	return resultsOf(&results, v.use(ctx, func(s *sqlConn, t *txn) (err error) {
		if results, err = t.applyAll(ops); err != nil {
			return err
		}
		for i := range ops {
			if results[i].Err == nil && ops[i].Kind.Stores() {
				s.rows.add(results[i].Row)
			}
		}
		return nil
	}))
}

// Finish implements backend.Tx.
func (v view) Finish(ctx context.Context, worker int64, outcomes []backend.Outcome) ([]bool, error) {
	var applied []bool
	return resultsOf(&applied, v.use(ctx, func(_ *sqlConn, t *txn) (err error) {
		applied, err = t.finishAll(worker, outcomes)
		return err
	}))
}

// Get implements backend.Tx.
func (v view) Get(ctx context.Context, key string) (row backend.Row, err error) {
	err = v.use(ctx, func(_ *sqlConn, t *txn) error {
		row, err = t.c.get(key)
		return err
	})
	return row, err
}

// Page implements backend.Tx.
func (v view) Page(ctx context.Context, prefix string, after backend.Cursor, n int, claimed bool) (rows []backend.Row, err error) {
	err = v.use(ctx, func(_ *sqlConn, t *txn) error {
		rows, err = t.c.page(prefix, after, n, claimed)
		return err
	})
	return rows, err
}
