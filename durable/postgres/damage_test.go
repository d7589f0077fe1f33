package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

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
	rows, err := b.LeaseRows(ctx, w, time.Now(), 9)
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
	adopted, err := b.Adopt(ctx, register(t, b), nil, 9)
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
	results, err := b.View(tx).Apply(ctx, []backend.Op{{Kind: backend.Cancel, Row: backend.Row{Key: "k0"}}})
	require.NoError(t, err)
	require.ErrorIs(t, results[0].Err, backend.ErrFired)
}
