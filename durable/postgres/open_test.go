package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/backend/backendtest"
	"github.com/hashedwheel/hwt/durable/postgres"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
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
			done, err := b.Finish(ctx, w, []backend.Outcome{{Ref: rows[0].Ref()}})
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
		GRANT SELECT, INSERT, UPDATE ON rights.entry, rights.dead, rights.worker, rights.pause, rights.limits, rights.permit TO clerk`)
	err = try("rights")
	require.ErrorContains(t, err, "USAGE on the sequence generation, USAGE on the sequence removal, "+
		"DELETE on the table entry, DELETE on the table dead, DELETE on the table worker")
	run(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA rights TO clerk;
		GRANT DELETE ON rights.entry, rights.dead, rights.worker, rights.pause, rights.limits, rights.permit TO clerk`)
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
	require.ErrorContains(t, err, "tables of version 9 need version 8 of this package or later (this is 3)")
}

func TestOpenNamesATableOfAnotherProgram(t *testing.T) {
	pool, schema := newPool(t, ""), fresh(t, "otherprogram")
	_, err := pool.Exec(t.Context(), "CREATE SCHEMA "+schema+"; CREATE TABLE "+schema+".meta (a int)")
	require.NoError(t, err)
	_, err = postgres.NewBackend(t.Context(), pool, &postgres.Options{Schema: schema})
	require.ErrorIs(t, err, durable.ErrInvalid)
	require.ErrorContains(t, err, "the table meta of the schema is of another program")
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
			level, err := b.Setting(t.Context(), "transaction_isolation")
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
	_, err := postgres.Open(t.Context(), nil, nil)
	require.EqualError(t, err, "postgres: invalid argument: pool: nil (expected: a *pgxpool.Pool)")
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
	address := pgBouncer(t, "transaction")
	n := 0
	pool := asRole(t, "postgres", address, "postgres", "&default_query_exec_mode=exec")
	backendtest.Run(t, func(t testing.TB) backend.Backend {
		n++
		return open(t, pool, postgres.Options{Schema: fresh(t, "bouncer"+strconv.Itoa(n)), PollOnly: true})
	})
}

// LISTEN succeeds there, and no notification arrives. Workers must poll at their short interval.
func TestDeafListenerIsNoticed(t *testing.T) {
	address := pgBouncer(t, "transaction")
	log := &lines{}
	b := open(t, asRole(t, "postgres", address, "postgres", "&default_query_exec_mode=exec"), postgres.Options{
		Timeout: time.Second, Options: durable.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}})
	require.Eventually(t, func() bool { return log.count("set Options.PollOnly there") == 1 }, 20*time.Second, 10*time.Millisecond, log)
	requireFindsBehindMark(t, b)
}

// A call would otherwise wait for a mode that never has transactions.
func TestOpenRejectsStatementPooling(t *testing.T) {
	pool := asRole(t, "postgres", pgBouncer(t, "statement"), "postgres", "&default_query_exec_mode=exec")
	_, err := postgres.NewBackend(short(t), pool, &postgres.Options{})
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "transaction blocks not allowed in statement pooling mode")
}

// pgBouncer starts PgBouncer in a mode and returns its address.
func pgBouncer(t *testing.T, mode string) (address string) {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			t.Skip("pgbouncer is not installed")
		}
	}
	newPool(t, "") // skips without PostgreSQL
	port, err := pgtest.FreePort()
	require.NoError(t, err)
	address = fmt.Sprintf("127.0.0.1:%d", port)
	_, serverPort, _ := net.SplitHostPort(server.Address())
	dir := t.TempDir()
	config := filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `[databases]
postgres = host=127.0.0.1 port=%s user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s
`, serverPort, port, mode), 0o644))
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	cmd := exec.Command(program, "-u", "postgres", config)
	if os.Getuid() != 0 {
		cmd = exec.Command(program, config)
	}
	out := &lines{}
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
	return address
}
