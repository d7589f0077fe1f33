package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// Administrators change the tables, and end connections, while entries are stored and fire.
func TestMaintenanceLosesNoEntry(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several seconds")
	}
	s, err := postgres.Open(short(t), newPool(t, ""), &postgres.Options{Schema: fresh(t, "maintained"), Options: durable.Options{Lease: time.Minute}})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	fired := firings(t, s)
	ctx, end := context.WithCancel(t.Context())
	stored := make(map[uint64]bool) // generations that have not fired
	var storing sync.WaitGroup
	defer storing.Wait()
	defer end()
	storing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			e, err := s.Set(t.Context(), durable.Entry{Key: fmt.Sprint("k", i), Due: time.Now().Add(100 * time.Millisecond)})
			assert.NoError(t, err)
			stored[e.Generation] = true
			time.Sleep(time.Millisecond) // of the real clock, to leave the server time for the statements
		}
	})
	for _, sql := range []string{
		"VACUUM FULL maintained.entry", "VACUUM (FREEZE) maintained.entry", "REINDEX SCHEMA maintained", "REINDEX TABLE CONCURRENTLY maintained.entry", "ANALYZE maintained.entry",
		"ALTER TABLE maintained.entry ADD COLUMN note text", "ALTER TABLE maintained.entry DROP COLUMN note",
		"CREATE INDEX ON maintained.entry (generation)", "CLUSTER maintained.entry USING entry_pkey",
		"ALTER TABLE maintained.entry SET UNLOGGED", "ALTER TABLE maintained.entry SET LOGGED", "ALTER TABLE maintained.entry SET (fillfactor = 90)",
		"CREATE STATISTICS maintained.mine ON holder, state FROM maintained.entry", "GRANT SELECT ON maintained.entry TO PUBLIC",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%maintained%' AND pid <> pg_backend_pid()",
	} {
		administer(t, "postgres", sql)
	}
	end()
	storing.Wait()
	for len(stored) > 0 {
		f := receive(t, fired)
		require.True(t, stored[f.Generation], "%s has fired before", f.Key)
		delete(stored, f.Generation)
	}
	require.Empty(t, entries(t, s))
}

// The role may not log in for longer than a lease, as when its password expires. Calls return the reason.
func TestWorkOutlastsAForbiddenLogin(t *testing.T) {
	administer(t, "postgres", `DROP ROLE IF EXISTS expired; CREATE ROLE expired LOGIN SUPERUSER`)
	admin := openStore(t, fresh(t, "expired"))
	log := &lines{}
	s, err := postgres.Open(short(t), asRole(t, "expired", "", "postgres", ""), &postgres.Options{Schema: "expired",
		Options: durable.Options{Lease: time.Second, Logger: slog.New(slog.NewTextHandler(log, nil))}})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	fired := firings(t, s)
	_, err = s.Set(short(t), durable.Entry{Key: "before", Due: time.Now()})
	require.NoError(t, err)
	require.Equal(t, "before", receive(t, fired).Key) // Work has a lease
	administer(t, "postgres", `ALTER ROLE expired NOLOGIN`)
	administer(t, "postgres", `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'expired'`)
	require.Eventually(t, func() bool { // a connection may be broken first
		_, err := s.Set(short(t), durable.Entry{Key: "forbidden", Due: time.Now().Add(time.Hour)})
		return err != nil && strings.Contains(err.Error(), "not permitted to log in") && !errors.Is(err, context.DeadlineExceeded)
	}, 20*time.Second, 10*time.Millisecond)
	for _, event := range []string{"cannot look for due entries.*not permitted to log in", "cannot renew the worker's lease.*not permitted to log in", "lease was lost"} {
		reported := regexp.MustCompile(event)
		require.Eventually(t, func() bool { return reported.MatchString(log.String()) }, 20*time.Second, 10*time.Millisecond, event)
	}
	_, err = admin.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now()})
	require.NoError(t, err)
	administer(t, "postgres", `ALTER ROLE expired LOGIN`)
	require.Equal(t, "k", receive(t, fired).Key)
	_, err = s.Set(short(t), durable.Entry{Key: "allowed", Due: time.Now()})
	require.NoError(t, err)
	require.Equal(t, "allowed", receive(t, fired).Key)
}

// A dump has the values of the sequences, too: generations go on.
func TestDumpIsRestoredToAnEqualStore(t *testing.T) {
	for _, program := range []string{"pg_dump", "psql"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	s := openStore(t, fresh(t, "dumped"))
	far := time.Now().Add(time.Hour)
	for i := range 50 {
		_, err := s.Set(t.Context(), durable.Entry{Key: fmt.Sprint("k\x00\xff\\", i%20), Due: far, Payload: []byte("\x00\\x"), Headers: map[string]string{"é": "\n"}})
		require.NoError(t, err)
	}
	_, err := s.Set(t.Context(), durable.Entry{Key: "series", Due: far, Every: durable.Every{Spec: "@every 1h"}})
	require.NoError(t, err)
	require.NoError(t, s.Limit(t.Context(), durable.Scope{Prefix: "k"}, durable.Limit{Running: 3}))
	for name, flags := range map[string]string{"plain": "", "inserts": "--inserts", "clean": "--clean --if-exists"} {
		t.Run(name, func(t *testing.T) {
			database := "restored_" + name
			administer(t, "postgres", "DROP DATABASE IF EXISTS "+database)
			administer(t, "postgres", "CREATE DATABASE "+database)
			copied, err := exec.CommandContext(t.Context(), "sh", "-c", fmt.Sprintf("pg_dump --schema=dumped %s '%s' | psql -q -v ON_ERROR_STOP=1 '%s'",
				flags, server.URL("postgres"), server.URL(database))).CombinedOutput()
			require.NoError(t, err, "%s", copied)
			log := &lines{}
			restored, err := postgres.Open(short(t), asRole(t, "postgres", "", database, ""), &postgres.Options{Schema: "dumped",
				Options: durable.Options{Paused: "a copy", Logger: slog.New(slog.NewTextHandler(log, nil))}})
			require.NoError(t, err)
			defer restored.Close()
			require.Equal(t, entries(t, s), entries(t, restored))
			require.NoError(t, restored.Verify(t.Context()))
			limits, err := restored.Limits(t.Context())
			require.NoError(t, err)
			require.Len(t, limits, 1)
			before, err := s.Get(t.Context(), "series")
			require.NoError(t, err)
			after, err := restored.Set(t.Context(), durable.Entry{Key: "series", Due: far})
			require.NoError(t, err)
			require.Greater(t, after.Generation, before.Generation)
			require.Empty(t, log.String())
		})
	}
}

func entries(t *testing.T, s *postgres.Store) (all []durable.Entry) {
	t.Helper()
	for e, err := range s.All(t.Context(), "") {
		require.NoError(t, err)
		all = append(all, e)
	}
	return all
}
