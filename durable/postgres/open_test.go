package postgres_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/backend/backendtest"
	"github.com/hashedwheel/hwt/durable/postgres"
)

func TestOpenNamesMissingPrivileges(t *testing.T) {
	ctx := t.Context()
	admin := newPool(t, "")
	open(t, admin, postgres.Options{Schema: fresh(t, "rights")})
	run := func(sql string) {
		_, err := admin.Exec(ctx, sql)
		require.NoError(t, err)
	}
	run(`DROP ROLE IF EXISTS clerk; CREATE ROLE clerk LOGIN`)
	t.Cleanup(func() { admin.Exec(context.Background(), `DROP OWNED BY clerk; DROP ROLE clerk`) })
	config := admin.Config()
	config.ConnConfig.User = "clerk"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	require.NoError(t, err)
	defer pool.Close()
	try := func(schema string) error {
		b, err := postgres.NewBackend(ctx, pool, &postgres.Options{Schema: schema})
		if err == nil {
			defer b.Close()
			apply(t, b, set("a", time.Now()))
			w := register(t, b)
			rows := lease(t, b, w, time.Now())
			require.Len(t, rows, 1)
			done, err := b.Finish(ctx, nil, w, []backend.Outcome{{Ref: rows[0].Ref()}})
			require.NoError(t, err)
			require.Equal(t, []bool{true}, done)
			_, err = b.Stats(ctx, nil)
			require.NoError(t, err)
		}
		return err
	}
	require.ErrorContains(t, try("absent"), "the role lacks CREATE on the database")
	require.ErrorContains(t, try("rights"), "the role lacks USAGE on the schema")
	run(`GRANT USAGE ON SCHEMA rights TO clerk; GRANT SELECT ON rights.meta TO clerk;
		GRANT SELECT, INSERT, UPDATE ON rights.entry, rights.dead, rights.worker TO clerk`)
	err = try("rights")
	require.ErrorContains(t, err, "USAGE on the sequence generation, USAGE on the sequence removal, "+
		"DELETE on the table entry, DELETE on the table dead, DELETE on the table worker")
	run(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA rights TO clerk;
		GRANT DELETE ON rights.entry, rights.dead, rights.worker TO clerk`)
	require.NoError(t, try("rights"))
	run("CREATE SCHEMA " + fresh(t, "granted") + "; GRANT USAGE, CREATE ON SCHEMA granted TO clerk")
	require.NoError(t, try("granted"))
}

func TestOpenRejectsTablesOfLaterVersion(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	open(t, pool, postgres.Options{Schema: fresh(t, "later")})
	_, err := pool.Exec(ctx, `UPDATE later.meta SET version = 9`)
	require.NoError(t, err)
	open(t, pool, postgres.Options{Schema: "later"}) // which this version can still read
	_, err = pool.Exec(ctx, `UPDATE later.meta SET reader = 8`)
	require.NoError(t, err)
	_, err = postgres.NewBackend(ctx, pool, &postgres.Options{Schema: "later"})
	require.ErrorContains(t, err, "tables of version 9 need version 8 of this package or later (this is 1)")
}

func TestOpenCreatesTablesOnce(t *testing.T) {
	pool := newPool(t, "")
	_, err := postgres.NewBackend(t.Context(), pool, &postgres.Options{Schema: fresh(t, "once"), MustExist: true})
	require.ErrorIs(t, err, durable.ErrNoStore)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { open(t, pool, postgres.Options{Schema: "once"}) })
	}
	all.Wait()
	open(t, pool, postgres.Options{Schema: "once", MustExist: true})
}

// The rules of rows rely on statements that see each other's commits.
func TestIsolationOfTheDatabaseDoesNotMatter(t *testing.T) {
	strict := poolWith(t, "default_transaction_isolation", "repeatable read")
	fresh(t, "strict")
	var all sync.WaitGroup
	for range 8 { // all but one wait for the tables
		all.Go(func() {
			b := open(t, strict, postgres.Options{Schema: "strict"})
			level, err := b.Isolation(t.Context())
			assert.NoError(t, err)
			assert.Equal(t, "read committed", level)
		})
	}
	all.Wait()
}

func TestReadOnlySessionsMayReadButNotCreate(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	readOnly := poolWith(t, "default_transaction_read_only", "on")
	_, err := postgres.NewBackend(ctx, readOnly, &postgres.Options{Schema: fresh(t, "absent")})
	require.ErrorContains(t, err, "default_transaction_read_only is on")

	open(t, newPool(t, ""), postgres.Options{Schema: "absent"})
	b, err := postgres.NewBackend(ctx, readOnly, &postgres.Options{Schema: "absent"})
	require.NoError(t, err)
	defer b.Close()
	_, err = b.Get(ctx, "k")
	require.ErrorIs(t, err, backend.ErrNotFound)
}

func TestOptionsOutOfRangeAreNamed(t *testing.T) {
	for want, o := range map[string]postgres.Options{
		"Options.Schema":   {Schema: "a\x00b"},
		"Options.MaxBytes": {MaxBytes: -1},
		"Options.Timeout":  {Timeout: time.Hour},
	} {
		_, err := postgres.NewBackend(t.Context(), newPool(t, ""), &o)
		require.ErrorIs(t, err, backend.ErrInvalid)
		require.ErrorContains(t, err, want)
	}
}

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
		_, err = a.Apply(ctx, tx, []backend.Op{set("near", now)})
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
	_, err = b.Apply(ctx, tx, []backend.Op{set("k", time.Now().Add(30*time.Second))})
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
	_, err = b.Apply(ctx, tx, []backend.Op{set("far", now.Add(time.Hour))})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))
	apply(t, b, set("told to a worker of this process", now))
	_, err = pool.Exec(ctx, `SELECT pg_notify('hwt:quiet', 'marker')`)
	require.NoError(t, err)
	n, err := conn.WaitForNotification(ctx)
	require.NoError(t, err)
	require.Equal(t, "marker", n.Payload)
}

func TestDamagedRowIsReported(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "damaged")})
	apply(t, b, set("good", time.Now()), set("bad", time.Now()))
	_, err := pool.Exec(ctx, `UPDATE damaged.entry SET payload = '\x00' WHERE key = 'bad'`)
	require.NoError(t, err)
	_, err = b.Get(ctx, "bad")
	require.ErrorIs(t, err, backend.ErrDamaged)
	require.ErrorContains(t, err, `key "bad"`)
	_, err = b.Get(ctx, "good")
	require.NoError(t, err)
	require.ErrorIs(t, apply(t, b, set("bad", time.Now()))[0].Err, backend.ErrDamaged)

	w := register(t, b)
	rows, err := b.Lease(ctx, backend.LeaseRequest{Worker: w, Until: time.Now().UnixNano(), Max: 9})
	require.ErrorIs(t, err, backend.ErrDamaged)
	require.Len(t, rows, 1, "the good one")
}

func TestDamagedClaimOfAnEndedWorkerIsPendingAgain(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "adopted")})
	w, rows := claimed(t, b, 2)
	_, err := pool.Exec(ctx, `UPDATE adopted.entry SET payload = '\x00' WHERE key = 'k1'`)
	require.NoError(t, err)
	_, err = b.Heartbeat(ctx, w, 0)
	require.NoError(t, err)
	adopted, err := b.Adopt(ctx, register(t, b), 9)
	require.ErrorIs(t, err, backend.ErrDamaged)
	require.Len(t, adopted, 1)
	require.Equal(t, rows[0].Ref(), adopted[0].Ref())
	_, err = b.Page(ctx, "", backend.Cursor{}, 9, false)
	require.ErrorContains(t, err, `key "k1"`)
	require.NoError(t, apply(t, b, backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: "k1"}})[0].Err)
}

// The snapshot of a transaction shows leases as they were before their renewals.
func TestCancelTxInOldSnapshotSparesWorkersThatLive(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "snapshot")})
	claimed(t, b, 1)
	_, err := pool.Exec(ctx, `UPDATE snapshot.entry SET payload = '\x00'`)
	require.NoError(t, err)
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer tx.Rollback(ctx)
	_, err = pool.Exec(ctx, "UPDATE snapshot.worker SET until = extract(epoch FROM clock_timestamp()) * 1000000000")
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "SELECT FROM snapshot.entry")
	require.NoError(t, err)
	_, err = pool.Exec(ctx, "UPDATE snapshot.worker SET until = until + 60000000000")
	require.NoError(t, err)
	results, err := b.Apply(ctx, tx, []backend.Op{{Kind: backend.Cancel, Row: backend.Row{Key: "k0"}}})
	require.NoError(t, err)
	require.ErrorIs(t, results[0].Err, backend.ErrFired)
}

func TestFullStoreStillCancelsAndFires(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{MaxBytes: 1})
	apply(t, b, set("a", time.Now()), set("b", time.Now())) // before the first measurement, or not at all
	st, err := b.Stats(ctx, nil)
	require.NoError(t, err)
	require.Greater(t, st.Bytes, st.Limit)
	require.ErrorIs(t, apply(t, b, set("c", time.Now()))[0].Err, backend.ErrFull)
	require.NotErrorIs(t, apply(t, b, backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: "a"}})[0].Err, backend.ErrFull)
}

func TestBackendKeepsTheContractThroughPgBouncer(t *testing.T) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !exists(program) {
			t.Skip("pgbouncer is not installed")
		}
	}
	newPool(t, "") // skips without PostgreSQL
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	_, port, _ := net.SplitHostPort(address)
	_, serverPort, _ := net.SplitHostPort(server.Address())
	dir := t.TempDir()
	config := filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `[databases]
postgres = host=127.0.0.1 port=%s user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
`, serverPort, port), 0o644))
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	cmd := exec.Command(program, "-u", "postgres", config)
	if os.Getuid() != 0 {
		cmd = exec.Command(program, config)
	}
	out := &syncBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	}, 20*time.Second, 20*time.Millisecond, out)
	config2, err := pgxpool.ParseConfig("postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable&default_query_exec_mode=exec&pool_max_conns=8")
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(t.Context(), config2)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	n := 0
	backendtest.Run(t, func(t testing.TB) backend.Backend {
		n++
		return open(t, pool, postgres.Options{Schema: fresh(t, "bouncer"+strconv.Itoa(n)), PollOnly: true})
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// syncBuffer keeps a process's output.
type syncBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}
