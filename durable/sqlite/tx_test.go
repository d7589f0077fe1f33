package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/driver"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

func begin(t *testing.T, s *sqlite.Store) *sql.Tx {
	t.Helper()
	tx, err := s.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	return tx
}

func execute(t *testing.T, on interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string, args ...any) {
	t.Helper()
	_, err := on.ExecContext(t.Context(), query, args...)
	require.NoError(t, err)
}

// count returns the result of a query for one integer.
func count(t *testing.T, s *sqlite.Store, query string) (n int) {
	t.Helper()
	require.NoError(t, s.DB().QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

func entryDue(key string, in time.Duration) durable.Entry {
	return durable.Entry{Key: key, Due: time.Now().Add(in)}
}

func TestTransactionStoresIfItCommits(t *testing.T) {
	s := open(t, temp(t), nil)
	fired := collect(t, s)
	ctx := t.Context()
	x := begin(t, s)
	execute(t, x, "CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT)")
	execute(t, x, "INSERT INTO orders VALUES (?, ?)", 7, "tea")
	_, err := s.Tx(x).Set(ctx, entryDue("committed", 0))
	require.NoError(t, err)
	_, err = s.Tx(x).Create(ctx, entryDue("committed", 0))
	require.ErrorIs(t, err, durable.ErrExists, "the transaction sees its own entries")
	_, err = s.Get(ctx, "committed")
	require.ErrorIs(t, err, durable.ErrNotFound, "others don't")
	require.NoError(t, x.Commit())
	assert.Equal(t, "committed", receive(t, fired).Key)
	assert.Equal(t, 1, count(t, s, "SELECT count(*) FROM orders"))

	x = begin(t, s)
	execute(t, x, "INSERT INTO orders VALUES (8, 'milk')")
	_, err = s.Tx(x).Set(ctx, entryDue("rolled back", 0))
	require.NoError(t, err)
	require.NoError(t, x.Rollback())
	_, err = s.Tx(x).Set(ctx, entryDue("k", 0))
	assert.ErrorIs(t, err, sql.ErrTxDone)
	_, err = s.Get(ctx, "rolled back")
	assert.ErrorIs(t, err, durable.ErrNotFound)
	assert.Equal(t, 1, count(t, s, "SELECT count(*) FROM orders"))
	assert.NoError(t, s.Verify(ctx))
}

func TestTxTakesOnlyItsOwnTransactions(t *testing.T) {
	s, other := open(t, temp(t), nil), open(t, temp(t), nil)
	plain, err := driver.Open(temp(t))
	require.NoError(t, err)
	defer plain.Close()
	foreign, err := plain.Begin()
	require.NoError(t, err)
	defer foreign.Rollback()
	of := begin(t, other)
	defer of.Rollback()
	for name, x := range map[string]*sql.Tx{"nil": nil, "of another store": of, "of another database": foreign} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Tx(x).Set(t.Context(), entryDue("k", time.Hour))
			require.ErrorIs(t, err, durable.ErrInvalid)
		})
	}
}

// The entries follow the transaction's own savepoints: the counts of the store, too.
func TestSavepointUndoesEntries(t *testing.T) {
	s := open(t, temp(t), nil)
	x := begin(t, s)
	_, err := s.Tx(x).Set(t.Context(), entryDue("kept", time.Hour))
	require.NoError(t, err)
	execute(t, x, "SAVEPOINT mine")
	_, err = s.Tx(x).Set(t.Context(), entryDue("undone", time.Hour))
	require.NoError(t, err)
	execute(t, x, "ROLLBACK TO mine")
	save := driver.Savepoint(x)
	_, err = s.Tx(x).Cancel(t.Context(), "kept")
	require.NoError(t, err)
	require.NoError(t, save.Rollback())
	require.NoError(t, x.Commit())
	_, err = s.Get(t.Context(), "kept")
	require.NoError(t, err)
	_, err = s.Get(t.Context(), "undone")
	require.ErrorIs(t, err, durable.ErrNotFound)
	require.NoError(t, s.Verify(t.Context()))
}

func TestFailedStatementLeavesTransactionUsable(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx := t.Context()
	x := begin(t, s)
	_, err := x.ExecContext(ctx, "nonsense")
	require.Error(t, err)
	_, err = s.Tx(x).Set(ctx, entryDue("k", time.Hour))
	require.NoError(t, err)
	_, err = s.Tx(x).Move(ctx, "k", time.Now().Add(2*time.Hour))
	require.NoError(t, err)
	_, err = s.Tx(x).Cancel(ctx, "none")
	require.ErrorIs(t, err, durable.ErrNotFound)
	require.NoError(t, x.Commit())
	_, err = s.Get(ctx, "k")
	require.NoError(t, err)
}

// A statement must not take effect alone after SQLite has rolled the transaction back.
func TestTransactionThatSQLiteRollsBackHasEnded(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx := t.Context()
	execute(t, s.DB(), "CREATE TABLE mine (a UNIQUE)")
	for name, end := range map[string]string{"by a constraint": "INSERT OR ROLLBACK INTO mine VALUES (1), (1)", "by a statement": "ROLLBACK"} {
		t.Run(name, func(t *testing.T) {
			x := begin(t, s)
			_, err := s.Tx(x).Set(ctx, entryDue("lost", time.Hour))
			require.NoError(t, err)
			_, err = x.ExecContext(ctx, end)
			require.True(t, err == nil || assert.ErrorContains(t, err, "UNIQUE"))
			_, err = s.Tx(x).Set(ctx, entryDue("after", time.Hour))
			require.ErrorIs(t, err, sql.ErrTxDone)
			_, err = x.ExecContext(ctx, "INSERT INTO mine VALUES (2)")
			require.ErrorIs(t, err, sql.ErrTxDone)
			_, err = s.Set(ctx, entryDue("other", time.Hour))
			require.NoError(t, err, "the turn has ended")
			require.ErrorIs(t, x.Commit(), sql.ErrTxDone)
			for _, key := range []string{"lost", "after"} {
				_, err = s.Get(ctx, key)
				assert.ErrorIs(t, err, durable.ErrNotFound)
			}
		})
	}
	assert.Zero(t, count(t, s, "SELECT count(*) FROM mine"))
	assert.NoError(t, s.Verify(ctx))
}

func TestInterruptedTransactionReportsItsContext(t *testing.T) {
	s := open(t, temp(t), nil)
	x := begin(t, s)
	execute(t, x, "CREATE TABLE mine (a)")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := x.ExecContext(ctx, "INSERT INTO mine WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorIs(t, x.Commit(), sql.ErrTxDone)
}

func TestTransactionEndsWithItsContext(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	x, err := s.DB().BeginTx(ctx, nil)
	require.NoError(t, err)
	_, err = s.Tx(x).Set(ctx, entryDue("k", 0))
	require.NoError(t, err)
	for name, call := range map[string]func(context.Context) error{
		"BeginTx": func(ctx context.Context) error { _, err := s.DB().BeginTx(ctx, nil); return err },
		"Set":     func(ctx context.Context) error { _, err := s.Set(ctx, entryDue("other", 0)); return err },
		"Exec": func(ctx context.Context) error {
			_, err := s.DB().ExecContext(ctx, "CREATE TABLE other (a)")
			return err
		},
	} {
		require.Eventually(t, func() bool { // on a busy machine, the time may end before the call waits
			short, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer end()
			err = call(short)
			require.ErrorIs(t, err, context.DeadlineExceeded, "an open transaction blocks %s", name)
			return strings.Contains(err.Error(), "a transaction of Store.DB is open")
		}, time.Minute, time.Millisecond, name)
	}
	cancel()
	_, err = s.Set(t.Context(), entryDue("after", time.Hour))
	require.NoError(t, err)
	err = x.Commit()
	assert.True(t, errors.Is(err, sql.ErrTxDone) || errors.Is(err, context.Canceled), err)
	for _, key := range []string{"k", "other"} {
		_, err = s.Get(t.Context(), key)
		assert.ErrorIs(t, err, durable.ErrNotFound, "a withdrawn call has no effect")
	}
	execute(t, s.DB(), "CREATE TABLE other (a)")
}

func TestCallWithdrawnBehindAProcessHasNoEffect(t *testing.T) {
	path := temp(t)
	s, other := open(t, path, nil), open(t, path, nil)
	x := begin(t, other)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.Set(ctx, entryDue("k", time.Hour))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "keeps the file locked")
	_, err = s.DB().BeginTx(ctx, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, x.Rollback())
	_, err = s.Set(t.Context(), entryDue("after", time.Hour))
	require.NoError(t, err)
	_, err = s.Get(t.Context(), "k")
	require.ErrorIs(t, err, durable.ErrNotFound)
}

func TestDoneSharesTheHandlersTransaction(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	execute(t, s.DB(), "CREATE TABLE effects (id TEXT)")
	_, err := s.Set(ctx, entryDue("k", 0))
	require.NoError(t, err)
	attempts := 0
	err = s.Work(ctx, func(ctx context.Context, f durable.Firing) error {
		attempts++
		x, err := s.DB().BeginTx(ctx, nil)
		require.NoError(t, err)
		defer x.Rollback()
		_, err = x.ExecContext(ctx, "INSERT INTO effects VALUES (?)", f.ID)
		require.NoError(t, err)
		require.NoError(t, s.Tx(x).Done(ctx, f))
		if attempts == 1 {
			return durable.RetryAfter(0) // rolls back
		}
		require.NoError(t, x.Commit())
		cancel()
		return nil
	}, nil)
	require.NoError(t, err)
	assert.Equal(t, 1, count(t, s, "SELECT count(*) FROM effects"))
	assert.Equal(t, 2, attempts)
}

// dbtx and queries have the form of sqlc's output with emit_prepared_queries. Without it, no statement is prepared.
type dbtx interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	PrepareContext(context.Context, string) (*sql.Stmt, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

type queries struct {
	db              dbtx
	tx              *sql.Tx
	createOrderStmt *sql.Stmt
}

func (q *queries) WithTx(tx *sql.Tx) *queries {
	return &queries{db: tx, tx: tx, createOrderStmt: q.createOrderStmt}
}

const createOrder = `-- name: CreateOrder :one
INSERT INTO orders (name, price) VALUES (?, ?)
RETURNING id
`

func (q *queries) CreateOrder(ctx context.Context, name string, price sql.NullFloat64) (id int64, err error) {
	switch stmt := q.createOrderStmt; {
	case stmt != nil && q.tx != nil:
		err = q.tx.StmtContext(ctx, stmt).QueryRowContext(ctx, name, price).Scan(&id)
	case stmt != nil:
		err = stmt.QueryRowContext(ctx, name, price).Scan(&id)
	default:
		err = q.db.QueryRowContext(ctx, createOrder, name, price).Scan(&id)
	}
	return id, err
}

func TestQueriesOfSqlcShareATransaction(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx := t.Context()
	execute(t, s.DB(), "CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL)")
	stmt, err := s.DB().PrepareContext(ctx, createOrder)
	require.NoError(t, err)
	for name, q := range map[string]*queries{"plain": {db: s.DB()}, "prepared": {db: s.DB(), createOrderStmt: stmt}} {
		t.Run(name, func(t *testing.T) {
			before := count(t, s, "SELECT count(*) FROM orders")
			_, err := q.CreateOrder(ctx, "alone", sql.NullFloat64{})
			require.NoError(t, err)
			for end, finish := range map[string]func(*sql.Tx) error{"commit": (*sql.Tx).Commit, "rollback": (*sql.Tx).Rollback} {
				x := begin(t, s)
				_, err := q.WithTx(x).CreateOrder(ctx, end, sql.NullFloat64{Float64: 2.5, Valid: true})
				require.NoError(t, err)
				_, err = s.Tx(x).Set(ctx, entryDue(name+end, time.Hour))
				require.NoError(t, err)
				require.NoError(t, finish(x))
			}
			require.Equal(t, before+2, count(t, s, "SELECT count(*) FROM orders"))
			_, err = s.Get(ctx, name+"commit")
			require.NoError(t, err)
			_, err = s.Get(ctx, name+"rollback")
			require.ErrorIs(t, err, durable.ErrNotFound)
		})
	}
	require.NoError(t, s.Verify(ctx))
}

// SQLite returns BUSY to a writer that finds the lock taken. Here, each waits for its turn.
func TestConcurrentWritersOfDBFailNever(t *testing.T) {
	s := open(t, temp(t), nil)
	db := s.DB()
	execute(t, db, "CREATE TABLE mine (id INTEGER PRIMARY KEY, a TEXT)")
	const writers, each = 4, 10
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := range each {
				key := fmt.Sprintf("%d-%d", w, i)
				_, err := s.Set(t.Context(), entryDue(key, time.Hour))
				assert.NoError(t, err)
				_, err = db.ExecContext(t.Context(), "INSERT INTO mine (a) VALUES ('plain')")
				assert.NoError(t, err)
				var id int
				assert.NoError(t, db.QueryRowContext(t.Context(), "INSERT INTO mine (a) VALUES (?) RETURNING id", key).Scan(&id))
				x, err := db.BeginTx(t.Context(), nil)
				if !assert.NoError(t, err) {
					return
				}
				_, err = x.ExecContext(t.Context(), "UPDATE mine SET a = 'seen' WHERE id = ?", id)
				assert.NoError(t, err)
				_, err = s.Tx(x).Cancel(t.Context(), key)
				assert.NoError(t, err)
				assert.NoError(t, x.Commit())
			}
		})
	}
	running.Wait()
	assert.Equal(t, writers*each, count(t, s, "SELECT count(*) FROM mine WHERE a = 'seen'"))
	assert.Equal(t, writers*each, count(t, s, "SELECT count(*) FROM mine WHERE a = 'plain'"))
	assert.Zero(t, pending(t, s))
	assert.NoError(t, s.Verify(t.Context()))
}

// A transaction of raw statements holds its turn, and ends with the use of its connection.
func TestLeftTransactionEndsWithItsConnection(t *testing.T) {
	s := open(t, temp(t), nil)
	c, err := s.DB().Conn(t.Context())
	require.NoError(t, err)
	execute(t, c, "BEGIN")
	execute(t, c, "CREATE TABLE mine (a)")
	short, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	_, err = s.Set(short, entryDue("k", time.Hour))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, c.Close())
	_, err = s.Set(t.Context(), entryDue("k", time.Hour))
	require.NoError(t, err)
	assert.Zero(t, count(t, s, "SELECT count(*) FROM sqlite_schema WHERE name = 'mine'"))
}

// A report reads for a long time. It sees the entries of its snapshot, and stores nothing.
func TestReaderOfDBDelaysNoWrite(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx := t.Context()
	_, err := s.Set(ctx, entryDue("before", time.Hour))
	require.NoError(t, err)
	x, err := s.DB().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	require.NoError(t, err)
	_, err = s.Tx(x).Get(ctx, "before")
	require.NoError(t, err)
	_, err = s.Set(ctx, entryDue("after", time.Hour))
	require.NoError(t, err)
	execute(t, s.DB(), "CREATE TABLE mine (a)")
	_, err = s.Tx(x).Get(ctx, "after")
	require.ErrorIs(t, err, durable.ErrNotFound)
	_, err = s.Tx(x).Set(ctx, entryDue("denied", time.Hour))
	require.ErrorContains(t, err, "readonly")
	_, err = s.Tx(x).Get(ctx, "before")
	require.NoError(t, err, "the transaction remains usable")
	require.NoError(t, x.Commit())
	for range 3 { // its connection may write again
		execute(t, s.DB(), "INSERT INTO mine VALUES (1)")
	}
	assert.EqualValues(t, 2, pending(t, s))
	assert.NoError(t, s.Verify(ctx))
}

// SQLite executes a statement with RETURNING as its rows are read: it writes until its result is closed.
func TestOpenResultOfAWriteHoldsItsTurn(t *testing.T) {
	s := open(t, temp(t), nil)
	execute(t, s.DB(), "CREATE TABLE mine (a)")
	set := func() error {
		short, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer end()
		_, err := s.Set(short, entryDue("k", time.Hour))
		return err
	}
	insert, err := s.DB().PrepareContext(t.Context(), "INSERT INTO mine VALUES (?), (?) RETURNING a")
	require.NoError(t, err)
	rows, err := insert.QueryContext(t.Context(), 1, 2)
	require.NoError(t, err)
	require.True(t, rows.Next())
	err = set()
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "a transaction of Store.DB is open")
	require.NoError(t, rows.Close())
	require.Eventually(t, func() bool { return set() == nil }, time.Minute, time.Millisecond)
	rows, err = s.DB().QueryContext(t.Context(), "SELECT a FROM mine")
	require.NoError(t, err)
	require.True(t, rows.Next())
	require.Eventually(t, func() bool { return set() == nil }, time.Minute, time.Millisecond, "a reader has no turn")
	require.NoError(t, rows.Close())
	require.NoError(t, s.Close())
	_, err = insert.Exec(3, 4)
	require.Error(t, err)
}

func TestCloseEndsTheUsersOfDB(t *testing.T) {
	s, err := sqlite.Open(t.Context(), temp(t), nil)
	require.NoError(t, err)
	db := s.DB()
	require.Same(t, db, s.DB())
	execute(t, db, "CREATE TABLE mine (a); INSERT INTO mine VALUES (1), (2)")
	rows, err := db.QueryContext(t.Context(), "SELECT a FROM mine")
	require.NoError(t, err)
	require.True(t, rows.Next())
	x := begin(t, s)
	_, err = s.Tx(x).Set(t.Context(), entryDue("k", time.Hour))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.ErrorIs(t, x.Commit(), durable.ErrClosed)
	require.False(t, rows.Next())
	require.ErrorIs(t, rows.Err(), durable.ErrClosed)
	rows.Close()
	_, err = db.Exec("SELECT 1")
	require.Error(t, err)
	_, err = s.DB().Exec("SELECT 1")
	require.Error(t, err)
}

func TestFullFileRejectsEntriesOfTransactions(t *testing.T) {
	s := open(t, temp(t), &sqlite.Options{MaxBytes: 1_000_000})
	x := begin(t, s)
	var err error
	for i := 0; err == nil && i < 100; i++ {
		_, err = s.Tx(x).Set(t.Context(), durable.Entry{Key: fmt.Sprint("k", i), Due: time.Now().Add(time.Hour), Payload: make([]byte, 100_000)})
	}
	require.ErrorIs(t, err, durable.ErrFull)
	require.NoError(t, x.Commit())
}

func TestLongWaitsForTheFileAreInStats(t *testing.T) {
	path := temp(t)
	s, other := open(t, path, nil), open(t, path, nil)
	for name, holder := range map[string]*sqlite.Store{
		"a transaction of Store.DB is open":              s,
		"another process or store keeps the file locked": other,
	} {
		t.Run(name, func(t *testing.T) {
			x := begin(t, holder)
			done := make(chan error, 1)
			go func() { _, err := s.Set(t.Context(), entryDue("k", time.Hour)); done <- err }()
			require.Eventually(t, func() bool {
				st, err := s.Stats(t.Context())
				return err == nil && st.LastError == name && st.Errors > 0 && !st.LastErrorTime.IsZero()
			}, time.Minute, 10*time.Millisecond)
			require.NoError(t, x.Rollback())
			require.NoError(t, <-done)
		})
	}
}
