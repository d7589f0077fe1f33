package sqlite_test

import (
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

// Administrators maintain the file from this process and from another, while entries are stored and fire.
func TestMaintenanceLosesNoEntry(t *testing.T) {
	path := temp(t)
	s, other := open(t, path, &sqlite.Options{Options: durable.Options{Lease: time.Minute}}), open(t, path, nil)
	fired := collect(t, s)
	ctx, end := context.WithCancel(t.Context())
	stored := make(map[uint64]bool) // generations that have not fired
	var storing sync.WaitGroup
	defer storing.Wait()
	defer end()
	storing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			e, err := s.Set(t.Context(), entryDue(fmt.Sprint("k", i), 20*time.Millisecond))
			assert.NoError(t, err)
			stored[e.Generation] = true
		}
	})
	for _, sql := range []string{
		"VACUUM", "REINDEX", "ANALYZE", "PRAGMA optimize", "PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA wal_checkpoint(RESTART)", "PRAGMA wal_checkpoint(TRUNCATE)",
		"PRAGMA incremental_vacuum", "PRAGMA integrity_check", "CREATE TABLE mine (a)", "CREATE INDEX mine_too ON hwt_entries (gen)", "ALTER TABLE hwt_entries ADD COLUMN note",
		"ANALYZE", "DROP INDEX mine_too", "ALTER TABLE hwt_entries DROP COLUMN note", "DROP TABLE mine", "VACUUM",
	} {
		for _, db := range []*sqlite.Store{s, other} {
			if db == other && !strings.HasPrefix(sql, "PRAGMA") && sql != "VACUUM" {
				continue
			}
			_, err := db.DB().ExecContext(t.Context(), sql)
			require.NoError(t, err, sql)
		}
	}
	end()
	storing.Wait()
	for len(stored) > 0 {
		f := receive(t, fired)
		require.True(t, stored[f.Generation], "%s has fired before", f.Key)
		delete(stored, f.Generation)
	}
	require.NoError(t, s.Verify(t.Context()))
}

// The shell of SQLite copies a store in use, from another process.
func TestShellCopiesToAnEqualStore(t *testing.T) {
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip(err)
	}
	path := temp(t)
	s := open(t, path, nil)
	ctx, far := t.Context(), time.Now().Add(time.Hour)
	for i := range 50 {
		_, err := s.Set(ctx, durable.Entry{Key: fmt.Sprint("k\x00\xff'", i%20), Due: far, Payload: []byte(strings.Repeat("\x00'", 40*i)), Group: "é", Headers: map[string]string{"\n": "\xff"}})
		require.NoError(t, err)
	}
	series, err := s.Set(ctx, durable.Entry{Key: "series", Due: far, Every: durable.Every{Spec: "@every 1h"}})
	require.NoError(t, err)
	require.NoError(t, s.Limit(ctx, durable.Scope{Prefix: "k"}, durable.Limit{PerSecond: 2.5}))
	require.NoError(t, s.Pause(ctx, durable.Pause{Scope: durable.Scope{Prefix: "k"}, Reason: "it's \x00"}))
	for name, command := range map[string]string{
		"dump": "sqlite3 '%s' .dump | sqlite3 '%s'", "backup": "sqlite3 '%s' '.backup %s'", "vacuum": `sqlite3 '%s' "VACUUM INTO '%s'"`,
	} {
		t.Run(name, func(t *testing.T) {
			copied := temp(t)
			out, err := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf(command, path, copied)).CombinedOutput()
			require.NoError(t, err, "%s", out)
			restored := open(t, copied, &sqlite.Options{MustExist: true})
			require.NoError(t, restored.Verify(ctx))
			require.Equal(t, entries(t, s), entries(t, restored))
			limits, err := restored.Limits(ctx)
			require.NoError(t, err)
			require.Equal(t, 2.5, limits[0].PerSecond)
			pauses, err := restored.Paused(ctx)
			require.NoError(t, err)
			require.Equal(t, "it's \x00", pauses[0].Reason)
			after, err := restored.Set(ctx, entryDue("series", time.Hour))
			require.NoError(t, err)
			require.Greater(t, after.Generation, series.Generation)
		})
	}
	require.NoError(t, s.Verify(ctx))
}

func entries(t *testing.T, s *sqlite.Store) (all []durable.Entry) {
	t.Helper()
	for e, err := range s.All(t.Context(), "") {
		require.NoError(t, err)
		all = append(all, e)
	}
	return all
}

// Every write waits for the transaction that the handler has open, heartbeats included. The handler waits for
// itself, until the lease ends.
func TestHandlerThatWaitsForItselfLearnsWhy(t *testing.T) {
	for name, write := range map[string]func(ctx context.Context, s *sqlite.Store) error{
		"Set": func(ctx context.Context, s *sqlite.Store) error {
			_, err := s.Set(ctx, entryDue("other", 0))
			return err
		},
		"BeginTx": func(ctx context.Context, s *sqlite.Store) error { _, err := s.DB().BeginTx(ctx, nil); return err },
		"Exec": func(ctx context.Context, s *sqlite.Store) error {
			_, err := s.DB().ExecContext(ctx, "CREATE TABLE mine (a)")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, temp(t), &sqlite.Options{Options: durable.Options{Lease: time.Second, Logger: slog.New(slog.DiscardHandler)}})
			calls := make(chan error, 10)
			ctx, end := context.WithCancel(t.Context())
			var working sync.WaitGroup
			defer working.Wait()
			defer end()
			first := true
			working.Go(func() {
				assert.NoError(t, s.Work(ctx, func(ctx context.Context, f durable.Firing) (err error) {
					defer func() { calls <- err }()
					if !first {
						return nil
					}
					first = false
					x, err := s.DB().BeginTx(t.Context(), nil) // otherwise it ends at the same time
					if err != nil {
						return err
					}
					defer x.Rollback()
					return write(ctx, s)
				}, &durable.WorkOptions{Concurrency: 1}))
			})
			_, err := s.Set(t.Context(), entryDue("k", 0))
			require.NoError(t, err)
			err = <-calls
			require.ErrorIs(t, err, durable.ErrLeaseLost)
			require.ErrorContains(t, err, "a transaction of Store.DB is open")
			require.NoError(t, <-calls, "the entry fires again")
			_, err = s.Get(t.Context(), "other")
			require.ErrorIs(t, err, durable.ErrNotFound)
		})
	}
}
