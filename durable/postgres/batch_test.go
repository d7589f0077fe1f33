package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

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
