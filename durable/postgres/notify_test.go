package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// Near entries of other processes arrive by notification, long before the next poll.
func TestNearEntriesAreAnnouncedToOthers(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	a := open(t, pool, postgres.Options{Schema: fresh(t, "announced")})
	b := open(t, pool, postgres.Options{Schema: "announced"})
	looks := make(chan struct{}, 1000)
	defer b.Watch(func([]backend.Row) { looks <- struct{}{} })()
	look := func() bool {
		select {
		case <-looks:
			return true
		case <-time.After(10 * time.Millisecond):
			return false
		}
	}
	announced := func(f func()) func() bool {
		return func() bool { f(); return look() }
	}
	now, err := a.Now(ctx)
	require.NoError(t, err)
	near := set("near", now)
	near.Announce = true
	require.Eventually(t, announced(func() { apply(t, a, near) }), 20*time.Second, time.Millisecond)
	require.Eventually(t, announced(func() {
		tx, err := pool.Begin(ctx)
		require.NoError(t, err)
		_, err = a.View(tx).Apply(ctx, []backend.Op{set("near", now)})
		require.NoError(t, err)
		require.NoError(t, tx.Commit(ctx))
	}), 20*time.Second, time.Millisecond)
}

// listener returns a connection that listens for notifications of a schema.
func listener(t *testing.T, pool *pgxpool.Pool, schema string) *pgx.Conn {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	t.Cleanup(conn.Release)
	_, err = conn.Exec(t.Context(), fmt.Sprintf("LISTEN %q", "hwt:"+schema))
	require.NoError(t, err)
	return conn.Conn()
}

// A short-lived process, such as a command, closes its store right after the call.
func TestCloseSendsTheLastNotification(t *testing.T) {
	pool := newPool(t, "")
	schema := fresh(t, "last")
	open(t, pool, postgres.Options{Schema: schema})
	conn := listener(t, pool, schema)
	for range 10 { // the announcer may be faster than Close
		b := open(t, pool, postgres.Options{Schema: schema})
		near := set("near", time.Now())
		near.Announce = true
		apply(t, b, near)
		require.NoError(t, b.Close())
		_, err := conn.WaitForNotification(short(t))
		require.NoError(t, err)
	}
}

// A transaction may commit long after the statement. Processes that only poll still notify others.
func TestTxAnnouncesEntriesForItsCommit(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "later"), PollOnly: true})
	conn := listener(t, pool, "later")
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	_, err = b.View(tx).Apply(ctx, []backend.Op{set("k", time.Now().Add(30*time.Second))})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))
	_, err = conn.WaitForNotification(short(t))
	require.NoError(t, err)
}

func TestListenerCallsThePoolsBeforeConnect(t *testing.T) {
	config := newPool(t, "").Config()
	port := config.ConnConfig.Port
	config.ConnConfig.Port = 1
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error { c.Port = port; return nil } // it may set a password that changes
	requireHears(t, config, "hook")
}

// The pool's handler of notifications is not the listener's.
func TestListenerHearsBesideThePoolsHandler(t *testing.T) {
	config := newPool(t, "").Config()
	config.ConnConfig.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) {}
	requireHears(t, config, "handler")
}

// requireHears fails the test unless notifications reach a backend whose pool has the settings.
func requireHears(t *testing.T, config *pgxpool.Config, schema string) {
	t.Helper()
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := open(t, pool, postgres.Options{Schema: fresh(t, schema)})
	looks := make(chan struct{}, 1000)
	defer b.Watch(func([]backend.Row) { looks <- struct{}{} })()
	require.Eventually(t, func() bool {
		_, err := pool.Exec(t.Context(), `SELECT pg_notify($1, '')`, "hwt:"+schema)
		return err == nil && len(looks) > 1 // the first look comes without a notification
	}, 20*time.Second, 10*time.Millisecond)
}

// Notifications arrive in the order of commits: the first is the marker.
func TestFarEntriesAreNotAnnounced(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "quiet")})
	conn := listener(t, pool, "quiet")
	now, err := b.Now(ctx)
	require.NoError(t, err)
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	_, err = b.View(tx).Apply(ctx, []backend.Op{set("far", now.Add(time.Hour))})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))
	apply(t, b, set("announced in this process", now))
	_, err = pool.Exec(ctx, `SELECT pg_notify('hwt:quiet', 'marker')`)
	require.NoError(t, err)
	n, err := conn.WaitForNotification(ctx)
	require.NoError(t, err)
	require.Equal(t, "marker", n.Payload)
}

// A listener that stands still in a transaction fills the queue of the server: each COMMIT with a notification
// then fails.
func TestFullQueueOfNotificationsFailsNoCall(t *testing.T) {
	administer(t, "postgres", "DROP DATABASE IF EXISTS full_queue")
	administer(t, "postgres", "CREATE DATABASE full_queue")
	log := &lines{}
	store := func(o postgres.Options) *postgres.Store {
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
		s, err := postgres.Open(short(t), asRole(t, "postgres", "", "full_queue", ""), &o)
		require.NoError(t, err)
		t.Cleanup(func() { s.Close() })
		return s
	}
	s, quiet := store(postgres.Options{}), store(postgres.Options{QuietTx: true})
	fired := firings(t, store(postgres.Options{}))
	administer(t, "full_queue", `SET allow_system_table_mods = on;
		ALTER FUNCTION pg_catalog.pg_notify(text, text) RENAME TO original;
		CREATE TABLE public.queue ();
		CREATE FUNCTION public.overflow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			RAISE EXCEPTION 'too many notifications in the NOTIFY queue' USING ERRCODE = '54000'; END $$;
		CREATE CONSTRAINT TRIGGER overflow AFTER INSERT ON public.queue DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION public.overflow();
		CREATE FUNCTION pg_catalog.pg_notify(text, text) RETURNS void LANGUAGE sql AS $$ INSERT INTO public.queue DEFAULT VALUES $$`)
	near := durable.Entry{Due: time.Now().Add(100 * time.Millisecond)}
	for i := range 20 {
		near.Key = fmt.Sprint("k", i)
		_, err := s.Set(short(t), near)
		require.NoError(t, err)
	}
	pool := asRole(t, "postgres", "", "full_queue", "")
	in := func(s *postgres.Store, key string) error {
		return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			near.Key = key
			_, err := s.Tx(tx).Set(t.Context(), near)
			return err
		})
	}
	require.ErrorContains(t, in(s, "notifying"), "54000")
	require.NoError(t, in(quiet, "quiet"))
	keys := make(map[string]bool)
	for range 21 {
		keys[receive(t, fired).Key] = true
	}
	require.Len(t, keys, 21)
	require.NotContains(t, keys, "notifying")
	require.Equal(t, 1, log.count("cannot notify other processes"), log)
}
