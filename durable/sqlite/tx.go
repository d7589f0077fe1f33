package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// Tx is a transaction on the store's file, for the program's own tables and, by
// [Store.Tx], for entries. Its methods are safe for concurrent use, but calls wait for each
// other.
type Tx struct {
	backend *sqliteBackend
	job     *job

	mu    sync.Mutex
	near  []backend.Row // stored rows that were near then. Guarded by mu.
	next  int64         // due time of the first of the others, or 0. Guarded by mu.
	t     *txn          // nil after the end. Guarded by mu.
	abort error         // why the transaction rolls back. Guarded by mu.
	ended chan struct{} // closed by the first of Commit, Rollback, and the context's end
}

// ErrTxDone is returned by the methods of a Tx that has ended. The reason is wrapped, too,
// unless it is Commit or Rollback.
var ErrTxDone = errors.New("sqlite: the transaction has ended")

// BeginTx begins a transaction (BEGIN IMMEDIATE). While it is open, all other writes to the
// store wait, firings included: keep it short. It rolls back when ctx ends, or the store is
// closed, after a call under way.
func (s *Store) BeginTx(ctx context.Context) (*Tx, error) {
	x := &Tx{backend: s.backend, ended: make(chan struct{})}
	begun := make(chan struct{})
	x.job = &job{alone: true, done: make(chan struct{}), run: func(t *txn) error {
		x.t = t
		close(begun)
		select {
		case <-x.ended:
		case <-ctx.Done():
		case <-s.backend.life.Done():
		}
		return x.end(ctx)
	}}
	if err := s.backend.enqueue(ctx, x.job); err != nil {
		return nil, fmt.Errorf("sqlite: BeginTx: %w", err)
	}
	select {
	case <-begun:
		return x, nil
	case <-x.job.done:
		return nil, fmt.Errorf("sqlite: BeginTx: %w", x.job.err)
	case <-ctx.Done():
		x.job.withdraw() // the writer skips it, or rolls back
		return nil, fmt.Errorf("sqlite: BeginTx: %w", context.Cause(ctx))
	}
}

// end takes the connection from the users of x. It returns the reason to roll back, or nil.
func (x *Tx) end(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.t = nil
	select {
	case <-x.ended:
	default: // neither Commit nor Rollback was called
		if x.abort = context.Cause(ctx); x.abort == nil {
			x.abort = backend.ErrClosed
		}
	}
	return x.abort
}

// finish ends the transaction, and returns its result.
func (x *Tx) finish(abort error) error {
	x.mu.Lock()
	if x.t == nil {
		defer x.mu.Unlock()
		return x.done()
	}
	x.t, x.abort = nil, abort
	close(x.ended)
	x.mu.Unlock()
	<-x.job.done
	return x.job.err
}

// done returns ErrTxDone, with the reason if the caller did not end the transaction. The
// caller holds mu.
func (x *Tx) done() error {
	if x.abort == nil || errors.Is(x.abort, errRollback) {
		return ErrTxDone
	}
	return fmt.Errorf("%w: %w", ErrTxDone, x.abort)
}

// Commit commits the transaction. After any error but ErrTxDone and ErrFull, the commit may
// or may not have taken place.
func (x *Tx) Commit() error {
	if err := x.finish(nil); err != nil {
		return fmt.Errorf("sqlite: Commit: %w", err)
	}
	x.mu.Lock()
	near, next := x.near, x.next
	x.mu.Unlock()
	if len(near) > 0 {
		x.backend.announce(near)
	}
	if next != 0 && x.backend.isNear(next) {
		x.backend.announce(nil)
	}
	return nil
}

// stored notes a row that COMMIT announces: the transaction may be open for so long that it
// is near only then. The caller holds mu.
func (x *Tx) stored(r backend.Row) {
	if x.backend.isNear(r.Due) {
		x.near = append(x.near, r)
	} else if x.next == 0 || r.Due < x.next {
		x.next = r.Due
	}
}

// isNear reports whether a due time is within the lead.
func (b *sqliteBackend) isNear(due int64) bool {
	return due <= time.Now().Add(b.Limits().Lead).UnixNano()
}

var errRollback = errors.New("rolled back")

// Rollback rolls the transaction back. After Commit it has no effect and returns ErrTxDone.
func (x *Tx) Rollback() error {
	if err := x.finish(errRollback); !errors.Is(err, errRollback) {
		return err
	}
	return nil
}

// Tx returns the operations on entries inside a transaction that BeginTx has begun on s.
func (s *Store) Tx(tx *Tx) durable.Tx {
	if tx == nil || tx.backend != s.backend {
		return durable.NewTx(s.Store, nil)
	}
	return durable.NewTx(s.Store, view{tx})
}

// view implements backend.Tx.
type view struct{ x *Tx }

// Apply implements backend.Tx.
func (v view) Apply(ctx context.Context, ops []backend.Op) ([]backend.Result, error) {
	var results []backend.Result
	return resultsOf(&results, v.x.use(ctx, func(t *txn) (err error) {
		if results, err = t.applyAll(ops); err != nil {
			return err
		}
		for i := range ops {
			if results[i].Err == nil && ops[i].Kind.Stores() {
				v.x.stored(results[i].Row)
			}
		}
		return nil
	}))
}

// Finish implements backend.Tx.
func (v view) Finish(ctx context.Context, worker int64, outcomes []backend.Outcome) ([]bool, error) {
	var applied []bool
	return resultsOf(&applied, v.x.use(ctx, func(t *txn) (err error) {
		applied, err = t.finishAll(worker, outcomes)
		return err
	}))
}

// Get implements backend.Tx.
func (v view) Get(ctx context.Context, key string) (row backend.Row, err error) {
	err = v.x.use(ctx, func(t *txn) error {
		row, err = t.c.get(key)
		return err
	})
	return row, err
}

// Page implements backend.Tx.
func (v view) Page(ctx context.Context, prefix string, after backend.Cursor, n int, claimed bool) (rows []backend.Row, err error) {
	err = v.x.use(ctx, func(t *txn) error {
		rows, err = t.c.page(prefix, after, n, claimed)
		return err
	})
	return rows, err
}

// use runs f inside the transaction. An error of f undoes only the changes of f, unless
// SQLite rolls the whole transaction back, as for a write that is interrupted.
func (x *Tx) use(ctx context.Context, f func(*txn) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.t == nil {
		return x.done()
	}
	c := x.t.c
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	before := x.t.s
	if err := c.run("SAVEPOINT hwt"); err != nil {
		return translate(ctx, err)
	}
	err := f(x.t)
	if err != nil && c.GetAutocommit() {
		x.t, x.abort = nil, translate(ctx, err)
		close(x.ended)
		return fmt.Errorf("%w: SQLite rolled it back: %w", ErrTxDone, x.abort)
	}
	c.SetInterrupt(context.Background()) // the end of ctx must not stop the rest
	if err != nil {
		x.t.s = before
		err = errors.Join(err, c.run("ROLLBACK TO hwt"))
	}
	return translate(ctx, errors.Join(err, c.run("RELEASE hwt")))
}

// Exec executes a statement and returns the number of changed rows. Arguments are nil,
// bool, int, int64, float64, string, []byte, or time.Time.
func (x *Tx) Exec(ctx context.Context, sql string, args ...any) (changed int64, err error) {
	err = x.use(ctx, func(t *txn) error {
		s, err := t.prepare(sql, args)
		if err != nil {
			return err
		}
		defer s.Close()
		before := t.c.TotalChanges()
		if err = s.Exec(); err == nil && t.c.TotalChanges() != before {
			changed = t.c.Changes() // which other statements leave as it was
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sqlite: Exec: %w", err)
	}
	return changed, nil
}

// Query executes a statement and returns its rows: int64, float64, string, []byte, or nil
// for each column. The rows are read before Query returns. An error ends the sequence.
func (x *Tx) Query(ctx context.Context, sql string, args ...any) iter.Seq2[[]any, error] {
	var rows [][]any
	err := x.use(ctx, func(t *txn) error {
		s, err := t.prepare(sql, args)
		if err != nil {
			return err
		}
		defer s.Close()
		for s.Step() {
			row := make([]any, s.ColumnCount())
			if err := s.Columns(row...); err != nil {
				return err
			}
			rows = append(rows, row)
		}
		return s.Err()
	})
	return func(yield func([]any, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, fmt.Errorf("sqlite: Query: %w", err))
		}
	}
}

// prepare prepares and binds a statement of the user.
func (t *txn) prepare(sql string, args []any) (*sqlite3.Stmt, error) {
	t.c.users = true
	s, tail, err := t.c.Prepare(sql)
	t.c.users = false
	if errors.Is(err, sqlite3.AUTH) {
		return nil, fmt.Errorf("%w: SQL %.64q (expected: a statement that neither begins nor ends a transaction)", backend.ErrInvalid, sql)
	}
	var more *sqlite3.Stmt // nil if the tail has only blanks and comments
	if err == nil && tail != "" {
		more, _, err = t.c.Prepare(tail)
		more.Close()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	if s == nil || more != nil {
		s.Close()
		return nil, fmt.Errorf("%w: SQL %.64q (expected: one statement)", backend.ErrInvalid, sql)
	}
	if n := s.BindCount(); n != len(args) {
		s.Close()
		return nil, fmt.Errorf("%w: %d arguments (expected: %d)", backend.ErrInvalid, len(args), n)
	}
	for i, arg := range args {
		if err := bindAny(s, i+1, arg); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}
