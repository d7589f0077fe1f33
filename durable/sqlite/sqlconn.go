package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/hashedwheel/hwt/durable/backend"
)

// sqlConn is a connection of DB. It takes a turn of the writer before a statement that may write,
// and gives it back once the connection is outside a transaction.
type sqlConn struct {
	writer  *writer // of the store
	putIdle func(*sqlConn)

	mu      sync.Mutex // held during each use of the connection
	inner   sqlInner
	c       *conn        // the same connection
	release func()       // ends the turn, or nil. Guarded by mu.
	writing int          // open results of statements that write. Guarded by mu.
	rows    announcement // Guarded by mu.
	inTx    bool         // between BeginTx and its end. Guarded by mu.
	ended   bool         // the store is closed. Guarded by mu.
}

// sqlInner has the methods of the driver's connections.
type sqlInner interface {
	driver.Conn
	sqldriver.ExecerContext
	sqldriver.NamedValueChecker
}

var (
	_ sqldriver.Conn               = (*sqlConn)(nil)
	_ sqldriver.ConnBeginTx        = (*sqlConn)(nil)
	_ sqldriver.ConnPrepareContext = (*sqlConn)(nil)
	_ sqldriver.ExecerContext      = (*sqlConn)(nil)
	_ sqldriver.Validator          = (*sqlConn)(nil)
)

// use runs f, with a turn if f may write.
func (s *sqlConn) use(ctx context.Context, writes bool, f func() error) error {
	s.mu.Lock()
	err := s.enter(ctx, writes)
	if err == nil {
		err = f()
	}
	announced := s.leave(err)
	s.mu.Unlock()
	announced.announce(s.writer.announce)
	return translate(ctx, err)
}

// run is use for a statement. SQLite may have rolled the transaction back: the statement must not take effect
// alone then.
func (s *sqlConn) run(ctx context.Context, writes bool, f func() error) error {
	return s.use(ctx, writes, func() error {
		if s.inTx && s.c.GetAutocommit() {
			return errTxLost
		}
		return f()
	})
}

// errTxLost is the error of a transaction that its user has not ended by Commit or Rollback.
var errTxLost = fmt.Errorf("%w: SQLite has rolled it back, or a statement has ended it", sql.ErrTxDone)

// enter returns an error if the store is closed, or the context ends before the turn. The caller
// holds mu.
func (s *sqlConn) enter(ctx context.Context, writes bool) (err error) {
	if s.ended {
		return backend.ErrClosed
	}
	if writes && s.release == nil {
		s.release, err = s.writer.queue.takeTurn(ctx, s.abort)
	}
	return err
}

// leave ends the turn outside a transaction, and returns the rows to announce. The caller holds mu.
func (s *sqlConn) leave(err error) (announced announcement) {
	if err != nil && !errors.Is(err, backend.ErrClosed) {
		s.writer.fatal(err)
	}
	if s.release == nil || s.writing > 0 || !s.ended && !s.c.GetAutocommit() {
		return announced
	}
	s.release()
	announced, s.release, s.rows = s.rows, nil, announcement{}
	return announced
}

// abort rolls an open transaction back, for Close.
func (s *sqlConn) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.SetInterrupt(context.Background())
	s.c.rollback()
	s.rows, s.ended = announcement{}, true
}

// Close implements driver.Conn. The connection stays open for the next one.
func (s *sqlConn) Close() error {
	s.IsValid()
	s.putIdle(s)
	return nil
}

// IsValid implements driver.Validator. It ends a transaction that the last user of the connection has left.
func (s *sqlConn) IsValid() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended && !s.c.GetAutocommit() {
		s.c.rollback()
		s.rows = announcement{}
	}
	s.inTx = false
	s.leave(nil)
	return !s.ended
}

// Begin implements driver.Conn.
func (s *sqlConn) Begin() (sqldriver.Tx, error) {
	return s.BeginTx(context.Background(), sqldriver.TxOptions{})
}

// BeginTx implements driver.ConnBeginTx.
func (s *sqlConn) BeginTx(ctx context.Context, o sqldriver.TxOptions) (sqldriver.Tx, error) {
	var tx sqldriver.Tx
	err := s.use(ctx, !o.ReadOnly, func() (err error) {
		tx, err = s.inner.BeginTx(ctx, o)
		s.inTx = err == nil
		return err
	})
	if err != nil {
		return nil, err
	}
	return sqlTx{s, tx}, nil
}

// sqlTx is a transaction of DB.
type sqlTx struct {
	s     *sqlConn
	inner sqldriver.Tx
}

// Commit implements driver.Tx.
func (x sqlTx) Commit() error {
	return x.s.run(context.Background(), false, func() error {
		x.s.inTx = false
		return x.inner.Commit()
	})
}

// Rollback implements driver.Tx.
func (x sqlTx) Rollback() error {
	return x.s.use(context.Background(), false, func() error {
		x.s.rows, x.s.inTx = announcement{}, false
		if x.s.c.GetAutocommit() {
			return nil // SQLite has rolled back itself
		}
		return x.inner.Rollback()
	})
}

// CheckNamedValue implements driver.NamedValueChecker.
func (s *sqlConn) CheckNamedValue(v *sqldriver.NamedValue) error { return s.inner.CheckNamedValue(v) }

// ExecContext implements driver.ExecerContext. It also runs the operations of [Store.Tx].
func (s *sqlConn) ExecContext(ctx context.Context, query string, args []sqldriver.NamedValue) (result sqldriver.Result, err error) {
	if op, ok := ctx.Value(operationKey{}).(*operation); ok {
		if op.writer == s.writer {
			op.found = true
			op.err = s.run(op.ctx, false, func() error { return s.operate(op) })
		}
		return sqldriver.RowsAffected(0), nil
	}
	if len(args) != 0 {
		return nil, sqldriver.ErrSkip
	}
	err = s.run(ctx, true, func() (err error) {
		result, err = s.inner.ExecContext(ctx, query, args)
		return err
	})
	return result, err
}

// Prepare implements driver.Conn.
func (s *sqlConn) Prepare(query string) (sqldriver.Stmt, error) {
	return s.PrepareContext(context.Background(), query)
}

// PrepareContext implements driver.ConnPrepareContext.
func (s *sqlConn) PrepareContext(ctx context.Context, query string) (sqldriver.Stmt, error) {
	var inner sqldriver.Stmt
	err := s.run(ctx, false, func() (err error) {
		inner, err = s.inner.PrepareContext(ctx, query)
		return err
	})
	if err != nil {
		return nil, err
	}
	stmt, ok := inner.(innerStmt)
	if !ok || stmt == nil {
		return inner, nil
	}
	return &sqlStmt{stmt, s}, nil
}

// innerStmt has the methods of the driver's statements.
type innerStmt interface {
	sqldriver.Stmt
	sqldriver.StmtExecContext
	sqldriver.StmtQueryContext
	sqldriver.NamedValueChecker
	ReadOnly() bool
}

// sqlStmt is a statement of DB.
type sqlStmt struct {
	innerStmt
	s *sqlConn
}

// NumInput implements driver.Stmt.
func (t *sqlStmt) NumInput() int { return guarded(t.s, -1, t.innerStmt.NumInput) }

// Close implements driver.Stmt.
func (t *sqlStmt) Close() error { return guarded(t.s, nil, t.innerStmt.Close) }

// ExecContext implements driver.StmtExecContext.
func (t *sqlStmt) ExecContext(ctx context.Context, args []sqldriver.NamedValue) (result sqldriver.Result, err error) {
	err = t.s.run(ctx, !t.ReadOnly(), func() (err error) {
		result, err = t.innerStmt.ExecContext(ctx, args)
		return err
	})
	return result, err
}

// QueryContext implements driver.StmtQueryContext. The turn of a statement that writes, such as INSERT
// with RETURNING, ends with its result.
func (t *sqlStmt) QueryContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	r := &sqlRows{s: t.s, ctx: ctx, writes: !t.ReadOnly()}
	err := t.s.run(ctx, r.writes, func() error {
		rows, err := t.innerStmt.QueryContext(ctx, args)
		if err == nil {
			r.innerRows = rows.(innerRows)
			if r.writes {
				t.s.writing++
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// innerRows has the methods of the driver's results.
type innerRows interface {
	sqldriver.Rows
	sqldriver.RowsColumnTypeDatabaseTypeName
	sqldriver.RowsColumnTypeNullable
	sqldriver.RowsColumnTypeScanType
}

// sqlRows is a result of DB.
type sqlRows struct {
	innerRows
	s      *sqlConn
	ctx    context.Context
	writes bool
}

// Columns implements driver.Rows.
func (r *sqlRows) Columns() []string { return guarded(r.s, nil, r.innerRows.Columns) }

// Next implements driver.Rows.
func (r *sqlRows) Next(values []sqldriver.Value) error {
	return r.s.use(r.ctx, false, func() error { return r.innerRows.Next(values) })
}

// Close implements driver.Rows.
func (r *sqlRows) Close() error {
	return r.s.use(context.Background(), false, func() error {
		if r.writes {
			r.s.writing--
		}
		return r.innerRows.Close()
	})
}

// guarded calls f unless the store is closed.
func guarded[T any](s *sqlConn, closed T, f func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return closed
	}
	return f()
}

// operation is a call of a view. Package database/sql does not tell the connection of a transaction: the
// operation reaches it in the context of an ExecContext.
type operation struct {
	writer *writer
	ctx    context.Context // of the caller
	run    func(*sqlConn, *txn) error
	found  bool // the transaction is on a connection of the same store
	err    error
}

type operationKey struct{}

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
	t := &txn{w: s.writer, c: c, s: before}
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

// isNear reports whether a due time is within the lead.
func isNear(due int64) bool { return due <= time.Now().Add(lead).UnixNano() }

// announcement are rows that a COMMIT announces.
type announcement struct {
	near []backend.Row // near when they were stored
	next int64         // due time of the first of the others, or 0
}

// add notes a row. The transaction may be open for so long that the row is near only at COMMIT.
func (r *announcement) add(row backend.Row) {
	if isNear(row.Due) {
		r.near = append(r.near, row)
	} else if r.next == 0 || row.Due < r.next {
		r.next = row.Due
	}
}

// announce passes the rows to the workers, after COMMIT.
func (r announcement) announce(to func([]backend.Row)) {
	if len(r.near) > 0 {
		to(r.near)
	}
	if r.next != 0 && isNear(r.next) {
		to(nil)
	}
}
