package pgtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

func start(t *testing.T, o *pgtest.Options) (context.Context, *pgtest.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	s, err := pgtest.Start(ctx, o)
	if errors.Is(err, pgtest.ErrNotInstalled) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return ctx, s
}

func query(ctx context.Context, t *testing.T, url, sql string) (out string) {
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer conn.Close(ctx)
	require.NoError(t, conn.QueryRow(ctx, sql).Scan(&out))
	return out
}

func execute(ctx context.Context, t *testing.T, url, sql string) {
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	require.NoError(t, err)
}

func TestKilledServerRestartsWithItsData(t *testing.T) {
	ctx, s := start(t, &pgtest.Options{Settings: map[string]string{"work_mem": "7MB"}})
	require.Equal(t, "7MB", query(ctx, t, s.URL("postgres"), "SHOW work_mem"))
	execute(ctx, t, s.URL("postgres"), "CREATE TABLE kept AS SELECT 1 AS a")
	s.Kill()
	require.Zero(t, s.PID())
	require.Regexp(t, `:[12]\d{4}$`, s.Address(), "other programs receive higher ports, also while the server is down")
	require.NoError(t, s.Restart(ctx))
	require.Equal(t, "1", query(ctx, t, s.URL("postgres"), "SELECT a::text FROM kept"))
}

func TestPromotedStandbyHasThePrimarysData(t *testing.T) {
	ctx, s := start(t, nil)
	standby, err := s.Standby(ctx)
	require.NoError(t, err)
	defer standby.Close()
	url := s.URL("postgres")
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'standby'", "SELECT pg_reload_conf()",
		"CREATE TABLE kept (a int)"} {
		execute(ctx, t, url, sql)
	}
	require.Eventually(t, func() bool {
		return query(ctx, t, url, "SELECT coalesce(max(sync_state), '') FROM pg_stat_replication") == "sync"
	}, 20*time.Second, 50*time.Millisecond)
	execute(ctx, t, url, "INSERT INTO kept VALUES (1)")
	s.Kill()
	require.NoError(t, standby.Promote(ctx))
	require.Equal(t, "1", query(ctx, t, standby.URL("postgres"), "SELECT a::text FROM kept"))
	execute(ctx, t, standby.URL("postgres"), "INSERT INTO kept VALUES (2)")
}
