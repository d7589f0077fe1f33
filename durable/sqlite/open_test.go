package sqlite_test

import (
	"context"
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

func TestOpenNamesItsObstacle(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		path    string
		options sqlite.Options
		says    string
	}{
		"missing directory": {filepath.Join(t.TempDir(), "none", "timers.db"), sqlite.Options{}, "none"},
		"missing store":     {temp(t), sqlite.Options{MustExist: true}, "there is no store"},
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
	_, err = sqlite.Open(ctx, filepath.Join(t.TempDir(), "none"), &sqlite.Options{MustExist: true})
	assert.ErrorIs(t, err, durable.ErrNoStore)
	path := temp(t)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	assert.ErrorIs(t, sqlite.Restore(ctx, path, temp(t)), durable.ErrNoStore)
	open(t, path, nil)
	raw(t, path, "UPDATE hwt_store SET version = 99")
	_, err = sqlite.Open(ctx, path, nil)
	assert.ErrorContains(t, err, "schema version 99 (expected: up to 5); use a newer release")
	assert.ErrorContains(t, sqlite.Restore(ctx, path, temp(t)), "schema version 99")
}

// A service that restarts after a kill does not wait until the log is in the file.
func TestOpenLeavesTheLogOfAKilledProcess(t *testing.T) {
	path, killed := temp(t), temp(t)
	s := open(t, path, nil)
	_, err := s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
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
	require.ErrorIs(t, err, durable.ErrNoStore)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
	s := open(t, path, nil)
	_, err = s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
	require.NoError(t, err)
}

func TestLoggerMayStoreEntries(t *testing.T) {
	path := temp(t)
	log := newStoringLog()
	s, other := log.open(t, path), open(t, path, nil)
	for name, locks := range map[string]*sqlite.Store{"another store": other, "a transaction of DB": s} {
		x := begin(t, locks)
		execute(t, x, fmt.Sprintf("CREATE TABLE %q (a)", name)) // takes the lock
		set := make(chan error, 1)
		go func() {
			_, err := s.Set(context.Background(), entryDue("k", time.Hour))
			set <- err
		}()
		require.Contains(t, receive(t, log.record), "writes wait for the file", name)
		require.NoError(t, x.Commit())
		require.NoError(t, receive(t, set), name)
		require.NoError(t, receive(t, log.stored), name)
	}
}

func TestSecondStoreOnTheFileIsSeen(t *testing.T) {
	path := temp(t)
	service := open(t, path, nil)
	fired := collect(t, service)
	operator := open(t, path, &sqlite.Options{MustExist: true})
	ctx := t.Context()
	_, err := operator.Set(ctx, durable.Entry{Key: "near", Due: time.Now()})
	require.NoError(t, err)
	assert.Equal(t, "near", receive(t, fired).Key)
	far, err := service.Set(ctx, durable.Entry{Key: "far", Due: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	moved, err := operator.Move(ctx, "far", time.Now().Add(2*time.Hour))
	require.NoError(t, err)
	assert.Greater(t, moved.Generation, far.Generation)
	_, err = service.If(moved.Generation).Cancel(ctx, "far")
	require.NoError(t, err)
	require.NoError(t, operator.Verify(ctx))
}

func TestCallsAfterCloseReturnErrClosed(t *testing.T) {
	s, err := sqlite.Open(t.Context(), temp(t), nil)
	require.NoError(t, err)
	x, err := s.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	assert.ErrorIs(t, x.Commit(), durable.ErrClosed)
	_, err = s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now()})
	assert.ErrorIs(t, err, durable.ErrClosed)
	_, err = s.DB().BeginTx(t.Context(), nil)
	assert.ErrorContains(t, err, "database is closed", "an error of database/sql")
	assert.NoError(t, s.Close())
}
