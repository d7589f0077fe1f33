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

// pausedTx calls between after its first batch, which takes locks and generations.
type pausedTx struct {
	pgx.Tx
	between func()
}

func (p *pausedTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	results := p.Tx.SendBatch(ctx, b)
	if p.between == nil {
		return results
	}
	between := p.between
	p.between = nil
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
			done, err := b.Finish(ctx, nil, w, []backend.Outcome{{Ref: row.Ref()}})
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
			paused := &pausedTx{tx, func() {
				before = apply(t, b, set(key, time.Now()))[0].Row
				remove(before)
			}}
			results, err := a.Apply(ctx, paused, []backend.Op{set(key, far)})
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
	requeue := func(key string) backend.Op {
		w := register(t, b)
		op := set(key, time.Now())
		op.Row.Every = "every"
		ref := apply(t, b, op)[0].Row.Ref()
		_, err := b.Claim(t.Context(), w, []backend.Claim{{Ref: ref}})
		require.NoError(t, err)
		buried, err := b.Finish(t.Context(), nil, w, []backend.Outcome{{Ref: ref, Fate: backend.Bury}})
		require.NoError(t, err)
		require.Equal(t, []bool{true}, buried)
		return backend.Op{Kind: backend.Requeue, Row: backend.Row{Key: key, Due: time.Now().UnixNano()}, If: ref.Generation}
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
			first, between := ops(requeue(key))
			tx, err := pool.Begin(ctx)
			require.NoError(t, err)
			defer tx.Rollback(context.WithoutCancel(ctx)) // no effect after Commit
			var before backend.Row
			results, err := a.Apply(ctx, &pausedTx{tx, func() {
				for i, r := range apply(t, b, between...) {
					require.NoError(t, r.Err)
					if i == 0 {
						before = r.Row
					}
				}
			}}, []backend.Op{first})
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
