package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

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
	_, err = b.View(tx).Apply(ctx, []backend.Op{set("locked", far), set("new", far)})
	require.NoError(t, err)

	locked := make(chan []backend.Result, 1)
	go func() {
		results, _ := b.Apply(ctx, []backend.Op{
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
	_, err = b.Apply(short, []backend.Op{set("locked", far)})
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
	_, err = b.View(tx).Apply(ctx, []backend.Op{set("locked", due)})
	require.NoError(t, err)
	won, err := b.Claim(ctx, w, []backend.Claim{{Ref: rows[0].Ref()}, {Ref: rows[1].Ref()}})
	require.NoError(t, err)
	require.Equal(t, []backend.Answer{backend.Won, backend.Overtaken}, won)
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
	_, err = b.View(tx).Apply(ctx, []backend.Op{set("a", time.Now().Add(time.Hour))})
	require.NoError(t, err)
	done, err := b.Finish(ctx, w, []backend.Outcome{{Ref: rows[0].Ref()}})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, done)
	require.NoError(t, tx.Commit(ctx))
	require.Eventually(t, func() bool {
		st, err := b.Stats(ctx, nil)
		return err == nil && st.Claimed == 0 && st.Pending == 1
	}, 20*time.Second, 10*time.Millisecond)
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
	_, err = b.View(tx).Apply(ctx, []backend.Op{{Kind: backend.Move, Row: backend.Row{Key: "a locked", Due: due.UnixNano()}}})
	require.NoError(t, err)
	won, err := b.Claim(short(t), w, claims(rows))
	require.NoError(t, err)
	require.Equal(t, []backend.Answer{backend.Overtaken, backend.Won}, won)
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
	_, err = b.View(tx).Apply(ctx, []backend.Op{set("a", time.Now().Add(time.Hour))})
	require.NoError(t, err)
	retry := backend.Outcome{Ref: rows[0].Ref(), Fate: backend.Retry, Due: time.Now().Add(time.Hour).UnixNano()}
	applied, err := b.Finish(short(t), w, []backend.Outcome{retry})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, applied)
	require.NoError(t, tx.Commit(ctx))
	require.Eventually(t, func() bool {
		st, err := b.Stats(ctx, nil)
		return err == nil && st.Claimed == 0 && st.Pending == 2
	}, 20*time.Second, 10*time.Millisecond)
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
	_, err = b.View(tx).Apply(ctx, []backend.Op{set("k0", far), set("k1", far)})
	require.NoError(t, err)
	_, err = b.Finish(short(t), w, []backend.Outcome{{Ref: rows[0].Ref()}, {Ref: rows[1].Ref(), Fate: backend.Retry, Due: far.UnixNano()}})
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

// A statement_timeout of the role may end the wait for a locked row before lock_timeout does.
func TestStatementTimeoutPassesLockedRow(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{PollOnly: true})
	hurried := open(t, poolWith(t, "statement_timeout", "80"), postgres.Options{Schema: b.Schema(), PollOnly: true})
	far := time.Now().Add(time.Hour)
	apply(t, b, set("locked", far))
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	_, err = b.View(tx).Apply(ctx, []backend.Op{set("locked", far)})
	require.NoError(t, err)
	both := make(chan []backend.Result, 1)
	go func() {
		results, _ := hurried.Apply(ctx, []backend.Op{set("free", far), {Kind: backend.Cancel, Row: backend.Row{Key: "locked"}}})
		both <- results
	}()
	assert.Eventually(t, func() bool { _, err := b.Get(ctx, "free"); return err == nil }, 5*time.Second, 10*time.Millisecond)
	require.NoError(t, tx.Commit(ctx))
	for _, r := range <-both {
		require.NoError(t, r.Err)
	}
}

// idler lets the server end one open transaction, since its client is idle.
type idler struct{ done atomic.Bool }

func (i *idler) TraceBatchStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	if conn.PgConn().TxStatus() == 'T' && !i.done.Swap(true) {
		conn.Exec(ctx, "SET idle_in_transaction_session_timeout = 1")
		time.Sleep(300 * time.Millisecond)
	}
	return ctx
}

func (*idler) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*idler) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}
func (*idler) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData)     {}
func (*idler) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func TestTransactionThatWasIdleIsRepeated(t *testing.T) {
	config := newPool(t, "").Config()
	i := &idler{}
	config.ConnConfig.Tracer = i
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := open(t, pool, postgres.Options{PollOnly: true})
	require.NoError(t, apply(t, b, set("k", time.Now().Add(time.Hour)))[0].Err)
	require.True(t, i.done.Load())
}

// A transaction that locks hundreds of keys delays no operation on another key, even if its row
// was locked, too.
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
	lock := func(where string) pgx.Tx {
		tx, err := pool.Begin(ctx)
		require.NoError(t, err)
		_, err = tx.Exec(ctx, "SELECT FROM many.entry WHERE "+where+" FOR UPDATE")
		require.NoError(t, err)
		return tx
	}
	many, one := lock("key <> 'last'"), lock("key = 'last'")
	var calls sync.WaitGroup
	calls.Go(func() { b.Apply(ctx, locked) })
	time.Sleep(500 * time.Millisecond) // many operations have met a locked row
	last := make(chan struct{})
	go func() {
		b.Apply(ctx, []backend.Op{set("last", far), set("free", far)})
		close(last)
	}()
	assert.Eventually(t, func() bool { _, err := b.Get(ctx, "free"); return err == nil }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, one.Rollback(ctx))
	select {
	case <-last:
	case <-time.After(10 * time.Second):
		t.Error("an operation whose row is unlocked waits for the others")
	}
	require.NoError(t, many.Rollback(ctx))
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
	_, err = b.View(tx).Apply(ctx, []backend.Op{set("locked", far)})
	require.NoError(t, err)
	call := make(chan error, 1)
	go func() {
		_, err := b.Apply(context.WithoutCancel(ctx), []backend.Op{set("locked", far)})
		call <- err
	}()
	time.Sleep(300 * time.Millisecond) // the batch gives up
	defer acquire(t, pool, pool.Config().MaxConns-1)()
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

// Operations on one key lock its rows in one order, also while it fires and if an insertion into the
// main slot has to be repeated. PostgreSQL would end one of two transactions that wait for each other.
func TestSetsOfOneFiringKeyDoNotDeadlock(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	w := register(t, b)
	var callers sync.WaitGroup
	for i := range 6 {
		callers.Go(func() {
			for range 100 {
				var err error
				if i == 0 {
					_, err = b.Apply(ctx, []backend.Op{set("k", time.Now())})
				} else {
					err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
						_, err := b.View(tx).Apply(ctx, []backend.Op{set("k", time.Now())})
						return err
					})
				}
				assert.NoError(t, err)
			}
		})
	}
	fired, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(fired)
		var outcomes []backend.Outcome
		for ctx.Err() == nil {
			rows, err := b.LeaseRows(ctx, w, time.Now(), 100)
			assert.NoError(t, err)
			if len(rows) == 0 {
				_, err = b.Finish(ctx, w, outcomes)
				assert.NoError(t, err)
				outcomes = nil
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
			}
			for _, r := range rows {
				outcomes = append(outcomes, backend.Outcome{Ref: r.Ref()})
			}
		}
	}()
	callers.Wait()
	close(stop)
	<-fired
}
