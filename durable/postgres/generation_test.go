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

// A version that another process stores and removes, while an operation on the absent key
// is under way, has the smaller generation.
func TestGenerationsGrowAcrossVersionsThatCameAndWent(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	a := open(t, pool, postgres.Options{Schema: fresh(t, "came_and_went")})
	b := open(t, pool, postgres.Options{Schema: "came_and_went"})
	far := time.Now().Add(time.Hour)
	removals := map[string]func(backend.Row){
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
