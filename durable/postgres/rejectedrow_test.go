package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// A constraint of the user rejects every change of a row that is leased.
func TestRejectedRowKeepsNoOtherLease(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "rejectedrow")})
	w := register(t, b)
	due := time.Now().Add(time.Second)
	apply(t, b, set("bad", due), set("locked", due))
	rows := lease(t, b, w, due)
	require.Len(t, rows, 2)
	_, err := pool.Exec(ctx, "ALTER TABLE rejectedrow.entry ADD CONSTRAINT c CHECK (key <> 'bad') NOT VALID")
	require.NoError(t, err)
	claims := []backend.Claim{{Ref: rows[0].Ref()}}
	_, err = b.Claim(ctx, w, claims) // is rejected, and given back after ten seconds
	require.Error(t, err)
	time.Sleep(10500 * time.Millisecond) // the server's clock is real
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "SELECT FROM rejectedrow.entry WHERE key = 'locked' FOR UPDATE")
	require.NoError(t, err)
	won, err := b.Claim(ctx, w, []backend.Claim{{Ref: rows[1].Ref()}})
	require.NoError(t, err)
	require.Equal(t, []backend.Answer{backend.Overtaken}, won)
	require.NoError(t, tx.Rollback(ctx))
	other := register(t, b)
	require.Eventually(t, func() bool {
		rows, _ := b.LeaseRows(ctx, other, due.Add(time.Minute), 100)
		return len(rows) == 1
	}, time.Minute, 50*time.Millisecond)
}

func TestRejectedRowKeepsNoOtherRowOfAnEndedWorker(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "rejectedfree")})
	w := register(t, b)
	due := time.Now().Add(time.Second)
	apply(t, b, set("bad", due), set("good", due))
	require.Len(t, lease(t, b, w, due), 2)
	_, err := pool.Exec(ctx, "ALTER TABLE rejectedfree.entry ADD CONSTRAINT c CHECK (key <> 'bad') NOT VALID")
	require.NoError(t, err)
	_, err = b.Heartbeat(ctx, w, 0)
	require.NoError(t, err)
	other := register(t, b)
	_, err = b.Adopt(ctx, other, nil, 10)
	require.Error(t, err)
	require.Len(t, lease(t, b, other, due), 1)
}
