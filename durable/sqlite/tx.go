package sqlite

import (
	"context"
	"database/sql"
	"errors"
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
	return durable.NewTx(s.Store, view{s.backend, tx})
}

// view implements backend.Tx.
type view struct {
	b  *sqliteBackend
	tx *sql.Tx
}

// operation is a call of a view. Package database/sql does not tell the connection of a transaction: the
// operation reaches it in the context of an ExecContext.
type operation struct {
	backend *sqliteBackend
	ctx     context.Context // of the caller
	run     func(*sqlConn, *txn) error
	found   bool // the transaction is on a connection of backend
	err     error
}

type operationKey struct{}

// use runs f on the connection of the transaction.
func (v view) use(ctx context.Context, f func(*sqlConn, *txn) error) error {
	op := &operation{backend: v.b, ctx: ctx, run: f}
	_, err := v.tx.ExecContext(context.WithValue(ctx, operationKey{}, op), "SELECT 1 -- an operation of durable/sqlite")
	if op.found {
		return op.err
	}
	if err == nil {
		err = fmt.Errorf("%w: transaction on another database (expected: one of Store.DB)", backend.ErrInvalid)
	}
	return err
}

// operate runs an operation. An error undoes only the changes of the operation, unless SQLite rolls the
// whole transaction back, as for a write that is interrupted. The state of the store is read and
// written each time: the transaction's own statements may undo the operation. The caller
// holds mu.
func (s *sqlConn) operate(op *operation) error {
	c := s.c
	if c.GetAutocommit() {
		return errTxLost
	}
	defer c.SetInterrupt(c.SetInterrupt(op.ctx))
	if err := c.run("SAVEPOINT hwt"); err != nil {
		return err
	}
	before, err := c.state()
	t := &txn{b: s.b, c: c, s: before}
	if err == nil {
		err = op.run(s, t)
	}
	if err == nil && t.s != before {
		err = t.store()
	}
	if err != nil && c.GetAutocommit() {
		return fmt.Errorf("%w: SQLite rolled it back: %w", sql.ErrTxDone, translate(op.ctx, err))
	}
	c.SetInterrupt(context.Background()) // the end of ctx must not stop the rest
	if err != nil {
		err = errors.Join(err, c.run("ROLLBACK TO hwt"))
	}
	return errors.Join(err, c.run("RELEASE hwt"))
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
				s.rows.add(s.b, results[i].Row)
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
