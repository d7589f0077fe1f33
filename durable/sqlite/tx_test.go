package sqlite_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

func TestTransactionStoresIfItCommits(t *testing.T) {
	s := open(t, temp(t), nil)
	fired := collect(t, s)
	ctx := t.Context()
	x, err := s.BeginTx(ctx)
	require.NoError(t, err)
	_, err = x.Exec(ctx, "CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT, at REAL, raw BLOB, none)")
	require.NoError(t, err)
	n, err := x.Exec(ctx, "INSERT INTO orders VALUES (?, ?, ?, ?, ?)", 7, "tea", 0.5, []byte{1}, nil)
	require.NoError(t, err)
	assert.EqualValues(t, 1, n)
	_, err = s.Tx(x).Set(ctx, durable.Entry{Key: "committed", Due: time.Now()})
	require.NoError(t, err)
	_, err = s.Tx(x).Create(ctx, durable.Entry{Key: "committed", Due: time.Now()})
	require.ErrorIs(t, err, durable.ErrExists, "the transaction sees its own entries")
	_, err = s.Get(ctx, "committed")
	require.ErrorIs(t, err, durable.ErrNotFound, "others don't")
	require.NoError(t, x.Commit())
	assert.Equal(t, "committed", receive(t, fired).Key)

	x, err = s.BeginTx(ctx)
	require.NoError(t, err)
	for row, err := range x.Query(ctx, "SELECT * FROM orders WHERE id = ?", int64(7)) {
		require.NoError(t, err)
		assert.Equal(t, []any{int64(7), "tea", 0.5, []byte{1}, nil}, row)
	}
	_, err = s.Tx(x).Set(ctx, durable.Entry{Key: "rolled back", Due: time.Now()})
	require.NoError(t, err)
	require.NoError(t, x.Rollback())
	assert.ErrorIs(t, x.Commit(), sqlite.ErrTxDone)
	_, err = s.Tx(x).Set(ctx, durable.Entry{Key: "k", Due: time.Now()})
	assert.ErrorIs(t, err, sqlite.ErrTxDone)
	_, err = s.Get(ctx, "rolled back")
	assert.ErrorIs(t, err, durable.ErrNotFound)
}

func TestFailedStatementLeavesTransactionUsable(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx := t.Context()
	x, err := s.BeginTx(ctx)
	require.NoError(t, err)
	for _, c := range []struct {
		sql  string
		args []any
	}{{"nonsense", nil}, {"SELECT ?", nil}, {"SELECT 1; SELECT 2", nil}, {"SELECT ?", []any{struct{}{}}}} {
		_, err = x.Exec(ctx, c.sql, c.args...)
		assert.Error(t, err, c.sql)
	}
	_, err = s.Tx(x).Set(ctx, durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	_, err = s.Tx(x).Move(ctx, "k", time.Now().Add(2*time.Hour))
	require.NoError(t, err)
	_, err = s.Tx(x).Cancel(ctx, "none")
	require.ErrorIs(t, err, durable.ErrNotFound)
	require.NoError(t, x.Commit())
	_, err = s.Get(ctx, "k")
	require.NoError(t, err)
	_, err = s.Tx(nil).Set(ctx, durable.Entry{Key: "k", Due: time.Now()})
	assert.ErrorIs(t, err, durable.ErrInvalid)
}

func TestExecTakesOneStatement(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx := t.Context()
	x, err := s.BeginTx(ctx)
	require.NoError(t, err)
	defer x.Rollback()
	_, err = s.Tx(x).Set(ctx, durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	for _, c := range []struct {
		sql     string
		changed int64 // or -1 for an error
	}{
		{"CREATE TABLE mine (a)", 0},
		{"INSERT INTO mine VALUES (1), (2);\n\t-- two rows", 2},
		{"SELECT a FROM mine; ;", 0},
		{"UPDATE mine SET a = 3 WHERE a = 2", 1},
		{"SELECT 1; SELECT 2", -1},
		{"SELECT 1;; SELECT 2", -1},
		{"SELECT 1; /* a comment */ COMMIT", -1},
		{"-- a comment", -1},
	} {
		changed, err := x.Exec(ctx, c.sql)
		if c.changed < 0 {
			assert.ErrorContains(t, err, "expected: one statement", c.sql)
			continue
		}
		assert.NoError(t, err, c.sql)
		assert.Equal(t, c.changed, changed, c.sql)
	}
}

func TestTransactionThatSQLiteRollsBackHasEnded(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx := t.Context()
	x, err := s.BeginTx(ctx)
	require.NoError(t, err)
	_, err = s.Tx(x).Set(ctx, durable.Entry{Key: "lost", Due: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	_, err = x.Exec(ctx, "CREATE TABLE mine (a UNIQUE)")
	require.NoError(t, err)
	_, err = x.Exec(ctx, "INSERT OR ROLLBACK INTO mine VALUES (1), (1)")
	require.ErrorIs(t, err, sqlite.ErrTxDone)
	require.ErrorContains(t, err, "UNIQUE")
	_, err = s.Tx(x).Set(ctx, durable.Entry{Key: "after", Due: time.Now().Add(time.Hour)})
	require.ErrorIs(t, err, sqlite.ErrTxDone)
	require.ErrorIs(t, x.Commit(), sqlite.ErrTxDone)
	_, err = s.Set(ctx, durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	for _, key := range []string{"lost", "after"} {
		_, err = s.Get(ctx, key)
		assert.ErrorIs(t, err, durable.ErrNotFound)
	}
	assert.NoError(t, s.Verify(ctx))
}

func TestStatementsDoNotEndTheTransaction(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx := t.Context()
	x, err := s.BeginTx(ctx)
	require.NoError(t, err)
	_, err = s.Tx(x).Set(ctx, durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	for _, sql := range []string{"COMMIT", "ROLLBACK", "END", "BEGIN", "SAVEPOINT a", "RELEASE hwt"} {
		_, err = x.Exec(ctx, sql)
		require.ErrorIs(t, err, durable.ErrInvalid, sql)
	}
	require.NoError(t, x.Rollback())
	_, err = s.Get(ctx, "k")
	assert.ErrorIs(t, err, durable.ErrNotFound)
	assert.NoError(t, s.Verify(ctx))
}

func TestInterruptedTransactionReportsItsContext(t *testing.T) {
	s := open(t, temp(t), nil)
	x, err := s.BeginTx(t.Context())
	require.NoError(t, err)
	_, err = x.Exec(t.Context(), "CREATE TABLE mine (a)")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = x.Exec(ctx, "INSERT INTO mine WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorIs(t, x.Commit(), context.DeadlineExceeded)
}

func TestTransactionEndsWithItsContext(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	x, err := s.BeginTx(ctx)
	require.NoError(t, err)
	_, err = s.Tx(x).Set(ctx, durable.Entry{Key: "k", Due: time.Now()})
	require.NoError(t, err)
	short, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	_, err = s.BeginTx(short)
	require.ErrorIs(t, err, context.DeadlineExceeded, "an open transaction blocks others")
	short, end = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	_, err = s.Set(short, durable.Entry{Key: "other", Due: time.Now()})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	cancel()
	_, err = s.Set(t.Context(), durable.Entry{Key: "after", Due: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	err = x.Commit()
	assert.ErrorIs(t, err, sqlite.ErrTxDone)
	assert.ErrorIs(t, err, context.Canceled, "the reason")
	_, err = s.Get(t.Context(), "k")
	assert.ErrorIs(t, err, durable.ErrNotFound)
	_, err = s.Get(t.Context(), "other")
	assert.ErrorIs(t, err, durable.ErrNotFound, "a withdrawn call has no effect")
}

func TestCallWithdrawnBehindAProcessHasNoEffect(t *testing.T) {
	path := temp(t)
	s, other := open(t, path, nil), open(t, path, nil)
	x, err := other.BeginTx(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = s.Set(ctx, durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = s.BeginTx(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, x.Rollback())
	_, err = s.Set(t.Context(), durable.Entry{Key: "after", Due: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	_, err = s.Get(t.Context(), "k")
	require.ErrorIs(t, err, durable.ErrNotFound)
}

func TestDoneTxSharesTheHandlersTransaction(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x, err := s.BeginTx(ctx)
	require.NoError(t, err)
	_, err = x.Exec(ctx, "CREATE TABLE effects (id TEXT)")
	require.NoError(t, err)
	require.NoError(t, x.Commit())
	_, err = s.Set(ctx, durable.Entry{Key: "k", Due: time.Now()})
	require.NoError(t, err)
	attempts := 0
	err = s.Work(ctx, func(ctx context.Context, f durable.Firing) error {
		attempts++
		x, err := s.BeginTx(ctx)
		require.NoError(t, err)
		defer x.Rollback()
		_, err = x.Exec(ctx, "INSERT INTO effects VALUES (?)", f.ID)
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
	x, err = s.BeginTx(t.Context())
	require.NoError(t, err)
	defer x.Rollback()
	for row, err := range x.Query(t.Context(), "SELECT count(*) FROM effects") {
		require.NoError(t, err)
		assert.Equal(t, []any{int64(1)}, row)
	}
	assert.Equal(t, 2, attempts)
}
