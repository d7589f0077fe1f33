package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

// open opens a store in a file, which it closes when the test ends.
func open(t *testing.T, path string, o *sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func temp(t *testing.T) string { return filepath.Join(t.TempDir(), "timers.db") }

// collect starts a Work that sends its firings to the returned channel.
func collect(t *testing.T, s *sqlite.Store) <-chan durable.Firing {
	fired := make(chan durable.Firing, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Work(ctx, func(_ context.Context, f durable.Firing) error {
			fired <- f
			return nil
		}, nil)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return fired
}

// receive waits for a firing. The test fails after a minute.
func receive(t *testing.T, fired <-chan durable.Firing) durable.Firing {
	t.Helper()
	select {
	case f := <-fired:
		return f
	case <-time.After(time.Minute):
		require.Fail(t, "nothing fires")
		panic("unreachable")
	}
}

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
	_, err = s.SetTx(ctx, x, "committed", time.Now(), nil)
	require.NoError(t, err)
	_, err = s.CreateTx(ctx, x, "committed", time.Now(), nil)
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
	_, err = s.SetTx(ctx, x, "rolled back", time.Now(), nil)
	require.NoError(t, err)
	require.NoError(t, x.Rollback())
	assert.ErrorIs(t, x.Commit(), sqlite.ErrTxDone)
	_, err = s.SetTx(ctx, x, "k", time.Now(), nil)
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
	_, err = s.SetTx(ctx, x, "k", time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	_, err = s.MoveTx(ctx, x, "k", time.Now().Add(2*time.Hour))
	require.NoError(t, err)
	_, err = s.CancelTx(ctx, x, "none")
	require.ErrorIs(t, err, durable.ErrNotFound)
	require.NoError(t, x.Commit())
	_, err = s.Get(ctx, "k")
	require.NoError(t, err)
	_, err = s.SetTx(ctx, "text", "k", time.Now(), nil)
	assert.ErrorContains(t, err, "transaction of type string (expected: *sqlite.Tx of BeginTx)")
}

func TestExecTakesOneStatement(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx := t.Context()
	x, err := s.BeginTx(ctx)
	require.NoError(t, err)
	defer x.Rollback()
	_, err = s.SetTx(ctx, x, "k", time.Now().Add(time.Hour), nil)
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
	_, err = s.SetTx(ctx, x, "lost", time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	_, err = x.Exec(ctx, "CREATE TABLE mine (a UNIQUE)")
	require.NoError(t, err)
	_, err = x.Exec(ctx, "INSERT OR ROLLBACK INTO mine VALUES (1), (1)")
	require.ErrorIs(t, err, sqlite.ErrTxDone)
	require.ErrorContains(t, err, "UNIQUE")
	_, err = s.SetTx(ctx, x, "after", time.Now().Add(time.Hour), nil)
	require.ErrorIs(t, err, sqlite.ErrTxDone)
	require.ErrorIs(t, x.Commit(), sqlite.ErrTxDone)
	_, err = s.Set(ctx, "k", time.Now().Add(time.Hour), nil)
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
	_, err = s.SetTx(ctx, x, "k", time.Now().Add(time.Hour), nil)
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
	_, err = s.SetTx(ctx, x, "k", time.Now(), nil)
	require.NoError(t, err)
	short, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	_, err = s.BeginTx(short)
	require.ErrorIs(t, err, context.DeadlineExceeded, "an open transaction blocks others")
	short, end = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	_, err = s.Set(short, "other", time.Now(), nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	cancel()
	_, err = s.Set(t.Context(), "after", time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	err = x.Commit()
	assert.ErrorIs(t, err, sqlite.ErrTxDone)
	assert.ErrorIs(t, err, context.Canceled, "the reason")
	_, err = s.Get(t.Context(), "k")
	assert.ErrorIs(t, err, durable.ErrNotFound)
	_, err = s.Get(t.Context(), "other")
	assert.ErrorIs(t, err, durable.ErrNotFound, "a withdrawn call has no effect")
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
	_, err = s.Set(ctx, "k", time.Now(), nil)
	require.NoError(t, err)
	attempts := 0
	err = s.Work(ctx, func(ctx context.Context, f durable.Firing) error {
		attempts++
		x, err := s.BeginTx(ctx)
		require.NoError(t, err)
		defer x.Rollback()
		_, err = x.Exec(ctx, "INSERT INTO effects VALUES (?)", f.ID)
		require.NoError(t, err)
		require.NoError(t, f.DoneTx(ctx, x))
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

func TestSecondStoreOnTheFileIsSeen(t *testing.T) {
	path := temp(t)
	service := open(t, path, nil)
	fired := collect(t, service)
	operator := open(t, path, &sqlite.Options{MustExist: true})
	ctx := t.Context()
	_, err := operator.Set(ctx, "near", time.Now(), nil)
	require.NoError(t, err)
	assert.Equal(t, "near", receive(t, fired).Key)
	far, err := service.Set(ctx, "far", time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	moved, err := operator.Move(ctx, "far", time.Now().Add(2*time.Hour))
	require.NoError(t, err)
	assert.Greater(t, moved.Generation, far.Generation)
	_, err = service.CancelIf(ctx, "far", moved.Generation)
	require.NoError(t, err)
	require.NoError(t, operator.Verify(ctx))
}

func TestFullStoreStillCancels(t *testing.T) {
	s := open(t, temp(t), &sqlite.Options{MaxBytes: 1_000_000})
	ctx, due := t.Context(), time.Now().Add(time.Hour)
	var err error
	n := 0
	for ; err == nil && n < 10_000; n++ {
		_, err = s.Set(ctx, fmt.Sprint("k", n), due, make([]byte, 1000))
	}
	require.ErrorIs(t, err, durable.ErrFull)
	assert.Greater(t, n, 500)
	_, err = s.Move(ctx, "k0", due.Add(time.Hour))
	require.NoError(t, err)
	_, err = s.Requeue(ctx, "k0", 1)
	require.ErrorIs(t, err, durable.ErrNotFound, "only Set and Create add entries")
	cancelled, err := s.CancelMany(ctx, "k1")
	require.NoError(t, err)
	assert.Greater(t, cancelled, 100)
	_, err = s.Set(ctx, "k", due, nil)
	require.NoError(t, err, "there is room again")
}

func TestBatchStopsAtMaxBytes(t *testing.T) {
	s := open(t, temp(t), &sqlite.Options{MaxBytes: 1_000_000})
	n, err := s.SetMany(t.Context(), func(yield func(durable.Entry) bool) {
		for i := range 100 {
			if !yield(durable.Entry{Key: fmt.Sprint("k", i), Due: time.Now().Add(time.Hour), Payload: make([]byte, 100_000)}) {
				return
			}
		}
	})
	require.ErrorIs(t, err, durable.ErrFull)
	assert.Less(t, n, 8) // 800 kB
}

// The last connection to the file removes the log.
func TestCloseEndsABackup(t *testing.T) {
	path, copied := temp(t), temp(t)
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	_, err = s.SetMany(t.Context(), func(yield func(durable.Entry) bool) {
		for i := 0; i < 30_000 && yield(durable.Entry{Key: fmt.Sprint("k", i), Due: time.Now().Add(time.Hour)}); i++ {
		}
	})
	require.NoError(t, err)
	backup := make(chan error, 1)
	go func() { backup <- s.Backup(context.Background(), copied) }()
	require.Eventually(t, func() bool {
		begun, err := filepath.Glob(copied + "*")
		return err == nil && len(begun) > 0
	}, time.Minute, time.Millisecond)
	require.NoError(t, s.Close())
	assert.NoFileExists(t, path+"-wal")
	if err := <-backup; err != nil { // it was not faster
		assert.ErrorIs(t, err, durable.ErrClosed)
		left, err := filepath.Glob(copied + "*")
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

func TestBackupRestoresToAnEqualStore(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx, due := t.Context(), time.Now().Add(time.Hour)
	for i := range 100 {
		_, err := s.Set(ctx, fmt.Sprint("k", i), due, bytes.Repeat([]byte{byte(i)}, 10*i))
		require.NoError(t, err)
	}
	backup, path := temp(t), temp(t)
	require.NoError(t, s.Backup(ctx, backup))
	require.ErrorIs(t, s.Backup(ctx, backup), durable.ErrInvalid, "an existing file")
	_, err := s.Cancel(ctx, "k0")
	require.NoError(t, err)
	require.NoError(t, sqlite.Restore(ctx, backup, path))
	require.ErrorIs(t, sqlite.Restore(ctx, backup, path), durable.ErrInvalid)
	require.Error(t, sqlite.Restore(ctx, temp(t), temp(t)), "a missing file")
	restored := open(t, path, &sqlite.Options{MustExist: true})
	n := 0
	for e, err := range restored.All(ctx, "") {
		require.NoError(t, err)
		assert.Equal(t, due.UnixNano(), e.Due.UnixNano())
		n++
	}
	assert.Equal(t, 100, n)
}

// Another program creates the file while the backup is written.
func TestBackupKeepsFileThatItDidNotCreate(t *testing.T) {
	s := open(t, temp(t), nil)
	_, err := s.SetMany(t.Context(), func(yield func(durable.Entry) bool) {
		for i := 0; i < 10_000 && yield(durable.Entry{Key: fmt.Sprint("k", i), Due: time.Now().Add(time.Hour)}); i++ {
		}
	})
	require.NoError(t, err)
	copied := temp(t)
	backup := make(chan error, 1)
	go func() { backup <- s.Backup(t.Context(), copied) }()
	require.Eventually(t, func() bool {
		begun, err := filepath.Glob(copied + "*")
		return err == nil && len(begun) > 0
	}, time.Minute, time.Millisecond)
	f, err := os.OpenFile(copied, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil { // the backup was faster
		require.NoError(t, <-backup)
		return
	}
	require.NoError(t, f.Close())
	require.ErrorIs(t, <-backup, durable.ErrInvalid)
	content, err := os.ReadFile(copied)
	require.NoError(t, err)
	require.Empty(t, content)
}

// SQLite would apply the log of another file to the copy.
func TestRestoreRejectsLeftLog(t *testing.T) {
	s := open(t, temp(t), nil)
	backup, path := temp(t), temp(t)
	require.NoError(t, s.Backup(t.Context(), backup))
	for _, suffix := range []string{"", "-wal", "-journal"} {
		require.NoError(t, os.WriteFile(path+suffix, []byte("the last commits"), 0o600))
		require.ErrorIs(t, sqlite.Restore(t.Context(), backup, path), durable.ErrInvalid)
		left, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		require.Equal(t, "the last commits", string(left))
		require.NoError(t, os.Remove(path+suffix))
	}
	require.NoError(t, sqlite.Restore(t.Context(), backup, path))
	require.NotErrorIs(t, sqlite.Restore(t.Context(), backup, filepath.Join(path, "new")), durable.ErrInvalid, "not a directory")
}

func TestOpenNamesItsObstacle(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		path    string
		options sqlite.Options
		says    string
	}{
		"missing directory": {filepath.Join(t.TempDir(), "none", "timers.db"), sqlite.Options{}, "none"},
		"missing store":     {temp(t), sqlite.Options{MustExist: true}, "there is no store in the file"},
		"SyncEvery":         {temp(t), sqlite.Options{SyncEvery: 1}, "Options.SyncEvery: 1ns (expected: 0 for each commit, or 10ms to 10s)"},
		"MaxBytes":          {temp(t), sqlite.Options{MaxBytes: 1}, "Options.MaxBytes: 1"},
		"Lease":             {temp(t), sqlite.Options{Options: durable.Options{Lease: 1}}, "Options.Lease: 1ns"},
	} {
		_, err := sqlite.Open(ctx, c.path, &c.options)
		assert.ErrorContains(t, err, c.says, name)
	}
	_, err := sqlite.Open(ctx, t.TempDir(), &sqlite.Options{MustExist: true})
	assert.ErrorContains(t, err, "is a directory")
	assert.NotContains(t, err.Error(), "there is no store")
	path := temp(t)
	open(t, path, nil)
	raw(t, path, "UPDATE hwt_store SET version = 99")
	_, err = sqlite.Open(ctx, path, nil)
	assert.ErrorContains(t, err, "schema version 99 (expected: up to 2); use a newer release")
	assert.ErrorContains(t, sqlite.Restore(ctx, path, temp(t)), "schema version 99")
}

// A service that restarts after a kill does not wait until the log is in the file.
func TestOpenLeavesTheLogOfAKilledProcess(t *testing.T) {
	path, killed := temp(t), temp(t)
	s := open(t, path, nil)
	_, err := s.Set(t.Context(), "k", time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	for _, suffix := range []string{"", "-wal"} { // what a kill would leave
		data, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(killed+suffix, data, 0o600))
	}
	before, err := os.Stat(killed + "-wal")
	require.NoError(t, err)
	restarted := open(t, killed, &sqlite.Options{MustExist: true})
	after, err := os.Stat(killed + "-wal")
	require.NoError(t, err)
	require.Equal(t, before.Size(), after.Size())
	_, err = restarted.Get(t.Context(), "k")
	require.NoError(t, err)
}

func TestStoreSharesAFileWithOtherTables(t *testing.T) {
	path := temp(t)
	raw(t, path, "CREATE TABLE mine (a); INSERT INTO mine VALUES (1)")
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = sqlite.Open(t.Context(), path, &sqlite.Options{MustExist: true})
	require.ErrorContains(t, err, "there is no store")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
	s := open(t, path, nil)
	_, err = s.Set(t.Context(), "k", time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
}

func TestSyncEverySyncsTheLog(t *testing.T) {
	s := open(t, temp(t), &sqlite.Options{SyncEvery: 10 * time.Millisecond})
	_, err := s.Set(t.Context(), "k", time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	time.Sleep(50 * time.Millisecond) // a sync that fails closes the store
	_, err = s.Set(t.Context(), "k", time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
}

func TestCallsAfterCloseReturnErrClosed(t *testing.T) {
	s, err := sqlite.Open(t.Context(), temp(t), nil)
	require.NoError(t, err)
	x, err := s.BeginTx(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Close())
	assert.True(t, errors.Is(x.Commit(), durable.ErrClosed) || errors.Is(x.Commit(), sqlite.ErrTxDone))
	_, err = s.Set(t.Context(), "k", time.Now(), nil)
	assert.ErrorIs(t, err, durable.ErrClosed)
	_, err = s.BeginTx(t.Context())
	assert.ErrorIs(t, err, durable.ErrClosed)
	assert.NoError(t, s.Close())
}
