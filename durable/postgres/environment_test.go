package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/backend/backendtest"
	"github.com/hashedwheel/hwt/durable/postgres"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// administer runs statements as the superuser of a database of the test server.
func administer(t testing.TB, database, sql string) {
	t.Helper()
	newPool(t, "")                            // skips without PostgreSQL
	ctx := context.WithoutCancel(t.Context()) // a cleanup, too
	conn, err := pgx.Connect(ctx, server.URL(database))
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
}

// asRole returns a pool of a role, at an address, by default the server's.
func asRole(t testing.TB, role, address, database, more string) *pgxpool.Pool {
	t.Helper()
	if address == "" {
		address = server.Address()
	}
	pool, err := pgxpool.New(t.Context(), fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable&pool_max_conns=8%s", role, address, database, more))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// Amazon Aurora answers so with its default settings, and hardened servers revoke such functions.
func TestStoreWorksWithoutWALFunctions(t *testing.T) {
	for name, sql := range map[string]string{
		"aurora": `SET allow_system_table_mods = on;
			ALTER FUNCTION pg_catalog.pg_current_wal_lsn() RENAME TO original;
			CREATE FUNCTION pg_catalog.pg_current_wal_lsn() RETURNS pg_lsn LANGUAGE plpgsql AS $$ BEGIN
			RAISE EXCEPTION 'wal_level must be set to ''logical''' USING ERRCODE = '55000'; END $$`,
		"revoked": `REVOKE EXECUTE ON FUNCTION pg_current_wal_lsn(), pg_walfile_name(pg_lsn), pg_is_in_recovery() FROM PUBLIC;
			REVOKE SELECT ON pg_stat_bgwriter FROM PUBLIC`,
	} {
		t.Run(name, func(t *testing.T) {
			administer(t, "postgres", "DROP DATABASE IF EXISTS "+name)
			administer(t, "postgres", "DROP ROLE IF EXISTS "+name)
			administer(t, "postgres", "CREATE ROLE "+name+" LOGIN")
			administer(t, "postgres", "CREATE DATABASE "+name+" OWNER "+name)
			administer(t, name, sql)
			p, err := pgtest.NewProxy(server.Address())
			require.NoError(t, err)
			t.Cleanup(func() { p.Close() })
			b := open(t, asRole(t, name, p.Address(), name, ""), postgres.Options{Timeout: time.Second})
			w, rows := claimed(t, b, 3)
			done, err := b.Finish(t.Context(), w, []backend.Outcome{{Ref: rows[0].Ref()}})
			require.NoError(t, err)
			require.Equal(t, []bool{true}, done)
			require.NoError(t, apply(t, b, set("a", time.Now()))[0].Err)
			lost := loseCommits(p, 1)
			require.ErrorContains(t, apply(t, b, set("b", time.Now()))[0].Err, "the outcome of the transaction is unknown")
			require.Positive(t, lost.Load())
		})
	}
}

// After a failover, connections may lead to the old server, which has become read-only, as they
// would for an hour: the address leads new ones to the new server.
func TestReadOnlyConnectionsAreReplaced(t *testing.T) {
	administer(t, "postgres", `DROP ROLE IF EXISTS failed_over; CREATE ROLE failed_over LOGIN SUPERUSER`)
	administer(t, "postgres", `ALTER ROLE failed_over SET default_transaction_read_only = on`)
	open(t, newPool(t, ""), postgres.Options{Schema: fresh(t, "failed_over")})
	pool := asRole(t, "failed_over", "", "postgres", "")
	b := open(t, pool, postgres.Options{Schema: "failed_over"})
	var all []*pgxpool.Conn
	for range 8 {
		c, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		all = append(all, c)
	}
	for _, c := range all {
		c.Release()
	}
	administer(t, "postgres", `ALTER ROLE failed_over SET default_transaction_read_only = off`)
	results, err := b.Apply(short(t), []backend.Op{set("k", time.Now())})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
}

// An operator learns why calls wait: from their errors, from the log, and from Stats.
func TestWaitNamesTheErrorOfTheDatabase(t *testing.T) {
	log := &lines{}
	open(t, newPool(t, ""), postgres.Options{Schema: fresh(t, "standby")})
	b := open(t, poolWith(t, "default_transaction_read_only", "on"), postgres.Options{Schema: "standby",
		Options: durable.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}})
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err := b.Apply(ctx, []backend.Op{set("k", time.Now())})
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "read-only transaction (SQLSTATE 25006)")
	}
	require.Equal(t, 1, log.count("waiting for the database"), log)
	require.Equal(t, 1, log.count("25006"), log)
}

func TestByteaOutputDoesNotMatter(t *testing.T) {
	newPool(t, "")
	n := 0
	pool := asRole(t, "postgres", "", "postgres", "&default_query_exec_mode=exec&bytea_output=escape")
	backendtest.Run(t, func(t testing.TB) backend.Backend {
		n++
		return open(t, pool, postgres.Options{Schema: fresh(t, fmt.Sprint("escape", n)), PollOnly: true})
	})
}

func TestRoleCannotLoseCallsInACrash(t *testing.T) {
	b := open(t, poolWith(t, "synchronous_commit", "off"), postgres.Options{})
	value, err := b.Setting(t.Context(), "synchronous_commit")
	require.NoError(t, err)
	require.Equal(t, "on", value)
	b = open(t, poolWith(t, "synchronous_commit", "remote_write"), postgres.Options{})
	value, err = b.Setting(t.Context(), "synchronous_commit")
	require.NoError(t, err)
	require.Equal(t, "remote_write", value)
}

// Acknowledgements commit asynchronously. Their worker, which lives, has forgotten the entries. Another
// store has used the connection before.
func TestAcknowledgementsSurviveACrash(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, err := pgtest.Start(ctx, &pgtest.Options{Settings: map[string]string{"wal_writer_delay": "10s"}})
	if errors.Is(err, pgtest.ErrNotInstalled) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer server.Close()
	pool, err := pgxpool.New(ctx, server.URL("postgres")+"&pool_max_conns=1")
	require.NoError(t, err)
	defer pool.Close()
	claimed(t, open(t, pool, postgres.Options{}), 1)
	b := open(t, pool, postgres.Options{Timeout: time.Second})
	w, rows := claimed(t, b, 20)
	var outcomes []backend.Outcome
	for _, r := range rows {
		outcomes = append(outcomes, backend.Outcome{Ref: r.Ref()})
	}
	done, err := b.Finish(ctx, w, outcomes)
	require.NoError(t, err)
	require.NotContains(t, done, false)
	server.Kill()
	require.NoError(t, server.Restart(ctx))
	st, err := b.Stats(ctx, nil)
	require.NoError(t, err)
	require.EqualValues(t, 20, st.Claimed, "the crash must lose the acknowledgements")
	lease(t, b, w, time.Now()) // as each worker does every half second
	require.Eventually(t, func() bool {
		st, err := b.Stats(ctx, nil)
		return err == nil && st.Claimed == 0
	}, time.Minute, 10*time.Millisecond)
}

// The call has returned before its row is unlocked. It must not delete an entry that its caller stores later.
func TestEndedCallHasNoLaterEffect(t *testing.T) {
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	far := time.Now().Add(time.Hour)
	for range 5 {
		apply(t, b, set("k", far))
		tx, err := pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = b.View(tx).Apply(t.Context(), []backend.Op{set("k", far)})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Millisecond) // in the wait for the lock of its batch
		_, err = b.Apply(ctx, []backend.Op{{Kind: backend.Cancel, Row: backend.Row{Key: "k"}}})
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, tx.Commit(t.Context()))
		later := backend.Op{Kind: backend.Move, Row: backend.Row{Key: "k", Due: far.UnixNano()}} // waits for the Cancel
		require.NoError(t, apply(t, b, later)[0].Err)
	}
}

// ended callers must not keep a batch from its COMMIT forever.
func TestEndedCallsLeaveTheOthersOfTheirBatch(t *testing.T) {
	p, b := proxied(t)
	far := time.Now().Add(time.Hour)
	apply(t, b, set("warm", far))
	p.Delay(30 * time.Millisecond)
	results := make(chan error)
	for i := range 40 {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(10+i%2*10_000)*time.Millisecond)
			defer cancel()
			_, err := b.Apply(ctx, []backend.Op{set(fmt.Sprint(i), far)})
			results <- err
		}()
	}
	failed := 0
	for range 40 {
		if err := <-results; err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			failed++
		}
	}
	require.Equal(t, 20, failed)
}
