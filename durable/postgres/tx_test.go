package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

func TestOpsInCallersTransactionFollowItsFate(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	db, err := sql.Open("pgx", server.URL("postgres"))
	require.NoError(t, err)
	defer db.Close()
	strict := poolWith(t, "default_transaction_isolation", "serializable")
	for name, begin := range map[string]func() (tx any, commit, rollback func() error){
		"pgx.Tx, serializable by default": func() (any, func() error, func() error) {
			tx, err := strict.Begin(ctx)
			require.NoError(t, err)
			return tx, func() error { return tx.Commit(ctx) }, func() error { return tx.Rollback(ctx) }
		},
		"pgx.Tx": func() (any, func() error, func() error) {
			tx, err := pool.Begin(ctx)
			require.NoError(t, err)
			return tx, func() error { return tx.Commit(ctx) }, func() error { return tx.Rollback(ctx) }
		},
		"sql.Tx": func() (any, func() error, func() error) {
			tx, err := db.Begin()
			require.NoError(t, err)
			return tx, tx.Commit, tx.Rollback
		},
	} {
		t.Run(name, func(t *testing.T) {
			far := time.Now().Add(time.Hour)
			apply(t, b, set(name+"moved", far), set(name+"cancelled", far))
			ops := []backend.Op{
				{Kind: backend.Create, Row: backend.Row{Key: name + "\x00new", Due: far.UnixNano(), Payload: []byte("\x00\"\\")}},
				{Kind: backend.Move, Row: backend.Row{Key: name + "moved", Due: far.UnixNano() + 5}},
				{Kind: backend.Cancel, Row: backend.Row{Key: name + "cancelled"}},
				{Kind: backend.Cancel, Row: backend.Row{Key: name + "missing"}},
			}
			tx, _, rollback := begin()
			results, err := b.Apply(ctx, tx, ops)
			require.NoError(t, err)
			require.ErrorIs(t, results[3].Err, backend.ErrNotFound)
			require.NoError(t, rollback())
			_, err = b.Get(ctx, name+"\x00new")
			require.ErrorIs(t, err, backend.ErrNotFound)
			tx, commit, _ := begin()
			results, err = b.Apply(ctx, tx, ops)
			require.NoError(t, err)
			require.NoError(t, commit())
			row, err := b.Get(ctx, name+"\x00new")
			require.NoError(t, err)
			require.Equal(t, results[0].Row, row)
			row, err = b.Get(ctx, name+"moved")
			require.NoError(t, err)
			require.Equal(t, far.UnixNano()+5, row.Due)
			_, err = b.Get(ctx, name+"cancelled")
			require.ErrorIs(t, err, backend.ErrNotFound)
		})
	}
	_, err = b.Apply(ctx, "no transaction", []backend.Op{set("a", time.Now())})
	require.ErrorIs(t, err, backend.ErrInvalid)
	require.ErrorContains(t, err, "type string (expected: pgx.Tx or *sql.Tx)")
}

func TestSerializableTransactionGetsItsConflict(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	apply(t, b, set("a", time.Now().Add(time.Hour)))
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(ctx))
	_, err = tx.Exec(ctx, "SELECT 1 FROM pg_class")
	require.NoError(t, err)
	apply(t, b, set("a", time.Now().Add(time.Hour)))
	_, err = b.Apply(ctx, tx, []backend.Op{{Kind: backend.Cancel, Row: backend.Row{Key: "a"}}})
	require.ErrorContains(t, err, "SQLSTATE 40001")
}

// An open transaction delays the operations on its own key, and no others.
func TestOpenTransactionDelaysItsOwnKeyOnly(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	far := time.Now().Add(time.Hour)
	apply(t, b, set("locked", far))
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(ctx))
	_, err = b.Apply(ctx, tx, []backend.Op{set("locked", far), set("new", far)})
	require.NoError(t, err)

	locked := make(chan []backend.Result, 1)
	go func() {
		results, _ := b.Apply(ctx, nil, []backend.Op{
			{Kind: backend.Create, Row: backend.Row{Key: "new", Due: far.UnixNano()}},
			{Kind: backend.Cancel, Row: backend.Row{Key: "locked"}},
		})
		locked <- results
	}()
	for range 3 * 512 {
		apply(t, b, set("free", far))
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = b.Apply(short, nil, []backend.Op{set("locked", far)})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	select {
	case <-locked:
		t.Fatal("an operation passed a locked row")
	default:
	}
	require.NoError(t, tx.Commit(ctx))
	results := <-locked
	require.ErrorIs(t, results[0].Err, backend.ErrExists)
	require.NoError(t, results[1].Err)
	again := backend.Op{Kind: backend.Create, Row: backend.Row{Key: "locked", Due: far.UnixNano()}}
	require.NoError(t, apply(t, b, again)[0].Err, "a call whose context ended in the queue has no effect")
}

// While a transaction that replaces leased rows is open, a claim skips them. After a
// rollback they can be leased again.
func TestClaimSkipsRowOfOpenTransaction(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	due := time.Now().Add(time.Minute)
	apply(t, b, set("free", due), set("locked", due))
	w := register(t, b)
	rows := lease(t, b, w, due)
	require.Len(t, rows, 2)
	looks := make(chan struct{}, 100)
	defer b.Watch(func([]backend.Row) { looks <- struct{}{} })()
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	_, err = b.Apply(ctx, tx, []backend.Op{set("locked", due)})
	require.NoError(t, err)
	won, err := b.Claim(ctx, w, []backend.Claim{{Ref: rows[0].Ref()}, {Ref: rows[1].Ref()}})
	require.NoError(t, err)
	require.Equal(t, []bool{true, false}, won)
	require.NoError(t, tx.Rollback(ctx))
	require.Eventually(t, func() bool { return len(lease(t, b, w, due)) == 1 }, 20*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool { return len(looks) > 0 }, 20*time.Second, 10*time.Millisecond)
}

// A row that an open transaction moves aside is acknowledged once that has committed.
func TestDoneReachesRowOfOpenTransaction(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	apply(t, b, set("a", time.Now()))
	w := register(t, b)
	rows := lease(t, b, w, time.Now())
	require.Len(t, rows, 1)
	require.Equal(t, backend.Claimed, rows[0].State)
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	_, err = b.Apply(ctx, tx, []backend.Op{set("a", time.Now().Add(time.Hour))})
	require.NoError(t, err)
	done, err := b.Finish(ctx, nil, w, []backend.Outcome{{Ref: rows[0].Ref()}})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, done)
	require.NoError(t, tx.Commit(ctx))
	require.Eventually(t, func() bool {
		st, err := b.Stats(ctx, nil)
		return err == nil && st.Claimed == 0 && st.Pending == 1
	}, 20*time.Second, 10*time.Millisecond)
}

func register(t *testing.T, b *postgres.Backend) int64 {
	t.Helper()
	w, err := b.Heartbeat(t.Context(), 0, time.Minute)
	require.NoError(t, err)
	return w
}

func lease(t *testing.T, b *postgres.Backend, worker int64, until time.Time) []backend.Row {
	t.Helper()
	rows, err := b.Lease(t.Context(), backend.LeaseRequest{Worker: worker, Until: until.UnixNano(), Max: 100})
	require.NoError(t, err)
	return rows
}

// The server must give up a wait for a locked row before Options.Timeout counts the
// connection as lost, and may do so by a timeout of the role.
func TestShortTimeoutPassesLockedRow(t *testing.T) {
	ctx := t.Context()
	for schema, timeout := range map[string]time.Duration{"brief": 100 * time.Millisecond, "statement": 0} {
		t.Run(schema, func(t *testing.T) {
			pool := newPool(t, "")
			b := open(t, pool, postgres.Options{Schema: fresh(t, schema), Timeout: timeout, PollOnly: true})
			far := time.Now().Add(time.Hour)
			apply(t, b, set("locked", far))
			tx, err := pool.Begin(ctx)
			require.NoError(t, err)
			_, err = b.Apply(ctx, tx, []backend.Op{set("locked", far)})
			require.NoError(t, err)
			if timeout == 0 {
				b = open(t, poolWith(t, "statement_timeout", "80"), postgres.Options{Schema: schema, PollOnly: true})
			}
			both := make(chan []backend.Result, 1)
			go func() {
				results, _ := b.Apply(ctx, nil, []backend.Op{set("free", far), {Kind: backend.Cancel, Row: backend.Row{Key: "locked"}}})
				both <- results
			}()
			assert.Eventually(t, func() bool { _, err := b.Get(ctx, "free"); return err == nil }, 5*time.Second, 10*time.Millisecond)
			require.NoError(t, tx.Commit(ctx))
			for _, r := range <-both {
				require.NoError(t, r.Err)
			}
		})
	}
}

// A transaction that locks hundreds of keys delays no operation on another key.
func TestManyLockedKeysDelayNoOther(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "many")})
	far := time.Now().Add(time.Hour)
	var locked []backend.Op
	for i := range 200 {
		locked = append(locked, set(fmt.Sprint("locked", i), far))
	}
	apply(t, b, append(locked, set("last", far))...)
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "SELECT FROM many.entry FOR UPDATE")
	require.NoError(t, err)
	var calls sync.WaitGroup
	calls.Go(func() { b.Apply(ctx, nil, locked) })
	time.Sleep(500 * time.Millisecond) // many operations have met a locked row
	calls.Go(func() { b.Apply(ctx, nil, []backend.Op{set("last", far), set("free", far)}) })
	assert.Eventually(t, func() bool { _, err := b.Get(ctx, "free"); return err == nil }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, tx.Rollback(ctx))
	calls.Wait()
}

// A caller may hold all connections, and close the store before it returns them.
func TestCloseEndsCallThatHasNoConnection(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	far := time.Now().Add(time.Hour)
	apply(t, b, set("locked", far))
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(ctx))
	_, err = b.Apply(ctx, tx, []backend.Op{set("locked", far)})
	require.NoError(t, err)
	call := make(chan error, 1)
	go func() {
		_, err := b.Apply(context.WithoutCancel(ctx), nil, []backend.Op{set("locked", far)})
		call <- err
	}()
	time.Sleep(300 * time.Millisecond) // the batch gives up
	for range pool.Config().MaxConns - 1 {
		conn, err := pool.Acquire(short(t))
		require.NoError(t, err)
		defer conn.Release()
	}
	time.Sleep(300 * time.Millisecond) // the call waits for a connection
	closed := make(chan error, 1)
	go func() { closed <- b.Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("Close waits for a connection")
	}
	<-call
}

// recurring returns a Set of a series.
func recurring(key string, due time.Time) backend.Op {
	op := set(key, due)
	op.Row.Every = "0 0 0 @every 1h"
	return op
}

// claims returns claims of rows, with the next occurrences of recurring ones.
func claims(rows []backend.Row) (claims []backend.Claim) {
	for _, r := range rows {
		c := backend.Claim{Ref: r.Ref()}
		if r.Every != "" {
			next := r
			next.Due += int64(time.Hour)
			c.Next = &next
		}
		claims = append(claims, c)
	}
	return claims
}

// short is a context for calls that must not wait for an open transaction.
func short(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestClaimSkipsRecurringRowOfOpenTransaction(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	due := time.Now().Add(time.Minute)
	apply(t, b, recurring("a locked", due), recurring("free", due))
	w := register(t, b)
	rows := lease(t, b, w, due)
	require.Len(t, rows, 2)
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(ctx))
	_, err = b.Apply(ctx, tx, []backend.Op{{Kind: backend.Move, Row: backend.Row{Key: "a locked", Due: due.UnixNano()}}})
	require.NoError(t, err)
	won, err := b.Claim(short(t), w, claims(rows))
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, won)
	require.NoError(t, tx.Rollback(ctx))
	require.Eventually(t, func() bool { return len(lease(t, b, w, due)) == 1 }, 20*time.Second, 10*time.Millisecond)
}

func TestFailureReachesRowOfOpenTransaction(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	apply(t, b, set("a", time.Now()))
	w := register(t, b)
	rows := lease(t, b, w, time.Now())
	require.Len(t, rows, 1)
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(ctx))
	_, err = b.Apply(ctx, tx, []backend.Op{set("a", time.Now().Add(time.Hour))})
	require.NoError(t, err)
	retry := backend.Outcome{Ref: rows[0].Ref(), Fate: backend.Retry, Due: time.Now().Add(time.Hour).UnixNano()}
	applied, err := b.Finish(short(t), nil, w, []backend.Outcome{retry})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, applied)
	require.NoError(t, tx.Commit(ctx))
	require.Eventually(t, func() bool {
		st, err := b.Stats(ctx, nil)
		return err == nil && st.Claimed == 0 && st.Pending == 2
	}, 20*time.Second, 10*time.Millisecond)
}

// A claim that fails on its own leaves the others of its batch claimed, and its row to be
// leased again.
func TestFailedClaimLeavesTheOthersOfItsBatch(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "failing")})
	due := time.Now().Add(time.Minute)
	apply(t, b, set("once", due), recurring("series", due))
	w := register(t, b)
	rows := lease(t, b, w, due)
	require.Len(t, rows, 2)
	_, err := pool.Exec(ctx, `CREATE FUNCTION failing.fail() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END $$;
		CREATE TRIGGER fail BEFORE INSERT ON failing.entry FOR EACH ROW EXECUTE FUNCTION failing.fail()`)
	require.NoError(t, err)
	won, err := b.Claim(ctx, w, claims(rows))
	require.ErrorIs(t, err, backend.ErrFull)
	require.Equal(t, []bool{true, false}, won)
	_, err = pool.Exec(ctx, "DROP TRIGGER fail ON failing.entry")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(lease(t, b, w, due)) == 1 }, 20*time.Second, 10*time.Millisecond)
}

// Without notifications, only polling finds rows behind the mark.
func TestPollingFindsRowsBehindTheMark(t *testing.T) {
	for name, o := range map[string]postgres.Options{"PollOnly": {PollOnly: true}, "QuietTx": {QuietTx: true}} {
		t.Run(name, func(t *testing.T) {
			b := open(t, newPool(t, ""), o)
			now := time.Now()
			apply(t, b, set("first", now.Add(time.Minute)))
			w := register(t, b)
			rows := lease(t, b, w, now.Add(time.Minute))
			require.Len(t, rows, 1)
			apply(t, b, set("behind", now.Add(time.Second)))
			rows, err := b.Lease(t.Context(), backend.LeaseRequest{Worker: w, Max: 100, Until: now.Add(time.Minute).UnixNano(),
				After: backend.Cursor{Due: rows[0].Due, Key: rows[0].Key}})
			require.NoError(t, err)
			require.Len(t, rows, 1)
			require.Equal(t, "behind", rows[0].Key)
		})
	}
}

// claimed stores entries due now, and returns them as claimed by a new worker.
func claimed(t *testing.T, b *postgres.Backend, n int) (worker int64, rows []backend.Row) {
	t.Helper()
	for i := range n {
		apply(t, b, set(fmt.Sprint("k", i), time.Now()))
	}
	worker = register(t, b)
	rows = lease(t, b, worker, time.Now())
	require.Len(t, rows, n)
	return worker, rows
}

// A row that was damaged while its handler ran must not keep the outcomes of others back.
func TestDamagedRowLosesOnlyItsOwnOutcome(t *testing.T) {
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "poisoned")})
	w, rows := claimed(t, b, 3)
	_, err := pool.Exec(t.Context(), `UPDATE poisoned.entry SET payload = '\x00' WHERE key = 'k1'`)
	require.NoError(t, err)
	var outcomes []backend.Outcome
	for _, r := range rows {
		outcomes = append(outcomes, backend.Outcome{Ref: r.Ref(), Fate: backend.Bury})
	}
	applied, err := b.Finish(t.Context(), nil, w, outcomes)
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, true}, applied)
}

// An outcome that the database rejects keeps no other one back.
func TestRejectedOutcomeLeavesTheOthers(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "rejected")})
	w, rows := claimed(t, b, 3)
	_, err := pool.Exec(ctx, `ALTER TABLE rejected.dead ADD CHECK (key <> 'k1')`)
	require.NoError(t, err)
	var outcomes []backend.Outcome
	for _, r := range rows {
		outcomes = append(outcomes, backend.Outcome{Ref: r.Ref(), Fate: backend.Bury})
	}
	_, err = b.Finish(ctx, nil, w, outcomes)
	require.ErrorContains(t, err, "23514")
	letters, err := b.DeadPage(ctx, "", backend.Ref{}, 9)
	require.NoError(t, err)
	require.Len(t, letters, 2)
}

// Otherwise another worker could take the row over before its outcome is stored.
func TestLeaseEndsAfterOutcomesOfLockedRows(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	w, rows := claimed(t, b, 2)
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(ctx))
	far := time.Now().Add(time.Hour)
	_, err = b.Apply(ctx, tx, []backend.Op{set("k0", far), set("k1", far)})
	require.NoError(t, err)
	_, err = b.Finish(short(t), nil, w, []backend.Outcome{{Ref: rows[0].Ref()}, {Ref: rows[1].Ref(), Fate: backend.Retry, Due: far.UnixNano()}})
	require.NoError(t, err)
	left := make(chan error, 1)
	go func() {
		_, err := b.Heartbeat(ctx, w, 0)
		left <- err
	}()
	select {
	case <-left:
		t.Fatal("the lease ends while a row is locked")
	case <-time.After(200 * time.Millisecond):
	}
	looks := make(chan struct{}, 100)
	defer b.Watch(func([]backend.Row) { looks <- struct{}{} })()
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, <-left)
	<-looks // for the retry, which may be due
	st, err := b.Stats(ctx, nil)
	require.NoError(t, err)
	require.Zero(t, st.Claimed)
}
