package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// pausedTx calls a function of between after each batch. The first batch takes locks and
// generations.
type pausedTx struct {
	pgx.Tx
	between []func()
}

func (p *pausedTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	results := p.Tx.SendBatch(ctx, b)
	if len(p.between) == 0 {
		return results
	}
	between := p.between[0]
	p.between = p.between[1:]
	return pausedResults{results, between}
}

type pausedResults struct {
	pgx.BatchResults
	between func()
}

func (r pausedResults) Close() error {
	err := r.BatchResults.Close()
	r.between()
	return err
}

// Another process stores and removes a version during an operation on the absent key. That
// version has the smaller generation.
func TestGenerationsGrowAcrossRemovedVersions(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	a := open(t, pool, postgres.Options{Schema: fresh(t, "came_and_went")})
	b := open(t, pool, postgres.Options{Schema: "came_and_went"})
	far := time.Now().Add(time.Hour)
	removals := map[string]func(backend.Row){
		"removed when it was no longer recent": func(row backend.Row) {
			_, err := pool.Exec(ctx, `SELECT nextval('came_and_went.generation') FROM generate_series(1, 10001)`)
			require.NoError(t, err)
			require.NoError(t, apply(t, b, backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: row.Key}})[0].Err)
		},
		"cancelled": func(row backend.Row) {
			require.NoError(t, apply(t, b, backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: row.Key}})[0].Err)
		},
		"acknowledged": func(row backend.Row) {
			w := register(t, b)
			require.Len(t, lease(t, b, w, time.Now()), 1)
			done, err := b.Finish(ctx, w, []backend.Outcome{{Ref: row.Ref()}})
			require.NoError(t, err)
			require.Equal(t, []bool{true}, done)
		},
	}
	for key, remove := range removals {
		t.Run(key, func(t *testing.T) {
			tx, err := pool.Begin(ctx)
			require.NoError(t, err)
			defer tx.Rollback(context.WithoutCancel(ctx)) // no effect after Commit
			var before backend.Row
			paused := &pausedTx{tx, []func(){func() {
				before = apply(t, b, set(key, time.Now()))[0].Row
				remove(before)
			}}}
			results, err := a.View(paused).Apply(ctx, []backend.Op{set(key, far)})
			require.NoError(t, err)
			require.NoError(t, results[0].Err)
			require.NoError(t, tx.Commit(ctx))
			require.NotZero(t, before.Generation)
			require.Greater(t, results[0].Row.Generation, before.Generation)
			row, err := a.Get(ctx, key)
			require.NoError(t, err)
			require.Equal(t, results[0].Row, row)
		})
	}
}

// A revived occurrence and a concurrent version of its key from another process have
// generations in the order of their commits.
func TestGenerationsGrowAcrossARequeuedOccurrence(t *testing.T) {
	pool := newPool(t, "")
	a := open(t, pool, postgres.Options{Schema: fresh(t, "requeued")})
	b := open(t, pool, postgres.Options{Schema: "requeued"})
	_, err := pool.Exec(t.Context(), `SELECT nextval('requeued.generation') FROM generate_series(1, 10001)`) // a store in use
	require.NoError(t, err)
	create := func(key string) backend.Op {
		return backend.Op{Kind: backend.Create, Row: backend.Row{Key: key, Due: time.Now().Add(time.Hour).UnixNano()}}
	}
	for key, ops := range map[string]func(revive backend.Op) (first backend.Op, between []backend.Op){
		"create": func(revive backend.Op) (backend.Op, []backend.Op) {
			return create("create"), []backend.Op{revive}
		},
		"requeue": func(revive backend.Op) (backend.Op, []backend.Op) {
			return revive, []backend.Op{create("requeue")}
		},
		"beside a version that came and went": func(revive backend.Op) (backend.Op, []backend.Op) {
			key := revive.Row.Key
			return revive, []backend.Op{create(key), {Kind: backend.Cancel, Row: backend.Row{Key: key}}}
		},
	} {
		t.Run(key, func(t *testing.T) {
			ctx := t.Context()
			first, between := ops(requeue(t, b, key, "every"))
			tx, err := pool.Begin(ctx)
			require.NoError(t, err)
			defer tx.Rollback(context.WithoutCancel(ctx)) // no effect after Commit
			var before backend.Row
			results, err := a.View(&pausedTx{tx, []func(){func() {
				for i, r := range apply(t, b, between...) {
					require.NoError(t, r.Err)
					if i == 0 {
						before = r.Row
					}
				}
			}}}).Apply(ctx, []backend.Op{first})
			require.NoError(t, err)
			require.NoError(t, results[0].Err)
			require.NoError(t, tx.Commit(ctx))
			require.Greater(t, results[0].Row.Generation, before.Generation)
			rows, err := b.Page(ctx, key, backend.Cursor{}, 10, false)
			require.NoError(t, err)
			var generations []uint64
			for _, row := range rows {
				generations = append(generations, row.Generation)
			}
			require.Contains(t, generations, results[0].Row.Generation)
			require.Len(t, rows, 3-len(between))
		})
	}
}

// requeue stores a dead letter, and returns an operation that revives it. every is that of the row.
func requeue(t *testing.T, b *postgres.Backend, key, every string) backend.Op {
	t.Helper()
	w := register(t, b)
	op := set(key, time.Now())
	op.Row.Every = every
	ref := apply(t, b, op)[0].Row.Ref()
	_, err := b.Claim(t.Context(), w, []backend.Claim{{Ref: ref}})
	require.NoError(t, err)
	buried, err := b.Finish(t.Context(), w, []backend.Outcome{{Ref: ref, Fate: backend.Bury}})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, buried)
	return backend.Op{Kind: backend.Requeue, Row: backend.Row{Key: key, Due: time.Now().UnixNano()}, If: ref.Generation}
}

// A revived occurrence takes a new generation if rows were removed meanwhile. A concurrent Set may
// have seen the first one only.
func TestGenerationsGrowAcrossARenewedOccurrence(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "renewed")})
	revive := requeue(t, b, "k", "every")
	first, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer first.Rollback(context.WithoutCancel(ctx)) // no effect after Commit
	second, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer second.Rollback(context.WithoutCancel(ctx))
	begun, committed, done := make(chan struct{}), make(chan struct{}), make(chan []backend.Result, 1)
	revived, err := b.View(&pausedTx{first, []func(){
		func() { // now the removals count as changed
			apply(t, b, set("other", time.Now()), backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: "other"}})
		},
		func() { // before the new generation
			go func() {
				results, _ := b.View(&pausedTx{second, []func(){func() { close(begun); <-committed }}}).Apply(ctx, []backend.Op{set("k", time.Now())})
				done <- results
			}()
			<-begun
		},
	}}).Apply(ctx, []backend.Op{revive})
	require.NoError(t, err)
	require.NoError(t, revived[0].Err)
	require.NoError(t, first.Commit(ctx))
	close(committed)
	stored := <-done
	require.Len(t, stored, 1)
	require.NoError(t, stored[0].Err)
	require.NoError(t, second.Commit(ctx))
	require.Greater(t, stored[0].Row.Generation, revived[0].Row.Generation)
}

// A detached row, which late does not lock at first, keeps no operation away.
func TestGenerationsGrowBesideADetachedRow(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "beside")})
	series, once := requeue(t, b, "k", "every"), requeue(t, b, "k", "")
	begin := func() pgx.Tx {
		tx, err := pool.Begin(ctx)
		require.NoError(t, err)
		t.Cleanup(func() { tx.Rollback(context.WithoutCancel(ctx)) }) // no effect after Commit
		return tx
	}
	letter, early, late := begin(), begin(), begin()
	_, err := letter.Exec(ctx, "SELECT FROM beside.dead WHERE generation = $1 FOR UPDATE", int64(once.If))
	require.NoError(t, err)
	revived := make(chan []backend.Result, 1)
	go func() { // sees no row, and waits for the dead letter
		results, _ := b.View(early).Apply(ctx, []backend.Op{once})
		revived <- results
	}()
	require.Eventually(t, func() bool {
		var waits bool
		err := pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)", int32(early.Conn().PgConn().PID())).Scan(&waits)
		return err == nil && waits
	}, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, apply(t, b, series)[0].Err) // the detached row
	var before backend.Row
	results, err := b.View(&pausedTx{late, []func(){func() {
		require.NoError(t, letter.Rollback(ctx))
		stored := <-revived
		require.Len(t, stored, 1)
		require.NoError(t, stored[0].Err)
		require.NoError(t, early.Commit(ctx))
		before = stored[0].Row
		w := register(t, b)
		require.Len(t, lease(t, b, w, time.Now()), 2)
		done, err := b.Finish(ctx, w, []backend.Outcome{{Ref: before.Ref()}})
		require.NoError(t, err)
		require.Equal(t, []bool{true}, done)
	}}}).Apply(ctx, []backend.Op{set("k", time.Now())})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	require.NoError(t, late.Commit(ctx))
	require.Greater(t, results[0].Row.Generation, before.Generation)
}

// A retry of a detached row takes its generation between that of a concurrent Set and its COMMIT.
func TestGenerationsGrowAcrossARetryBesideASet(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	w, rows := claimed(t, b, 1)
	apply(t, b, set("k0", time.Now().Add(time.Hour))) // detaches the claimed row
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(ctx)) // no effect after Commit
	results, err := b.View(&pausedTx{tx, []func(){func() {
		done, err := b.Finish(ctx, w, []backend.Outcome{{Ref: rows[0].Ref(), Fate: backend.Retry, Due: 1}})
		require.NoError(t, err)
		require.Equal(t, []bool{true}, done)
	}}}).Apply(ctx, []backend.Op{set("k0", time.Now().Add(time.Hour))})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))
	retried := lease(t, b, w, time.Now())
	require.Len(t, retried, 1)
	require.Greater(t, results[0].Row.Generation, retried[0].Generation)
	row, err := b.Get(ctx, "k0")
	require.NoError(t, err)
	require.Equal(t, results[0].Row, row)
}
