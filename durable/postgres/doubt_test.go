package postgres_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// doubt is a store on a server that does not tell the outcomes of transactions. The server loses an answer to COMMIT.
type doubt struct {
	*postgres.Backend // through the proxy
	proxy             *pgtest.Proxy
	direct            *postgres.Backend
	pool              *pgxpool.Pool // of a superuser
}

func newDoubt(t *testing.T) *doubt {
	t.Helper()
	administer(t, "postgres", "DROP DATABASE IF EXISTS doubt WITH (FORCE)")
	administer(t, "postgres", "DROP ROLE IF EXISTS doubt")
	administer(t, "postgres", "CREATE ROLE doubt LOGIN")
	administer(t, "postgres", "CREATE DATABASE doubt OWNER doubt")
	administer(t, "doubt", "REVOKE EXECUTE ON FUNCTION pg_current_wal_lsn() FROM PUBLIC")
	p, err := pgtest.NewProxy(server.Address())
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	d := &doubt{proxy: p, pool: asRole(t, "postgres", "", "doubt", "")}
	o := postgres.Options{Schema: "doubt", PollOnly: true}
	d.Backend = open(t, asRole(t, "doubt", p.Address(), "doubt", ""), o)
	d.direct = open(t, d.pool, o)
	return d
}

// atCommit calls f before the server gets the next COMMIT.
func (d *doubt) atCommit(f func()) {
	var once atomic.Bool
	d.proxy.Lose(func(request []byte) bool {
		now := bytes.Contains(request, []byte("COMMIT\x00")) && !once.Swap(true)
		if now {
			f()
		}
		return now
	})
}

// abort ends the open transactions of the role.
func (d *doubt) abort(t *testing.T) {
	_, err := d.pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity
		WHERE usename = 'doubt' AND state = 'idle in transaction'`)
	require.NoError(t, err)
}

const unknownText = "the outcome of the transaction is unknown"

// The next look would begin behind rows that are still there.
func TestLookWithAnUnknownOutcomeReachesNothing(t *testing.T) {
	group := "g"
	for name, lane := range map[string]backend.Lane{"all groups": {Max: 9}, "a group": {Max: 9, Group: &group}} {
		t.Run(name, func(t *testing.T) {
			d := newDoubt(t)
			op := set("k", time.Now())
			op.Row.Group = group
			apply(t, d.Backend, op)
			w := register(t, d.Backend)
			d.atCommit(func() { d.abort(t) })
			lanes, err := d.Lease(t.Context(), backend.LeaseRequest{Worker: w, Until: time.Now().UnixNano(), Lanes: []backend.Lane{lane}})
			require.ErrorContains(t, err, unknownText)
			require.Equal(t, []backend.Leased{{More: lane.Selects()}}, lanes)
			require.Len(t, lease(t, d.Backend, w, time.Now()), 1)
		})
	}
}

// The worker claims its copy of a row that the lost transaction of Lease has claimed, too. The handler may have run before Lease
// returns the row.
func TestRowOfAnUnknownLookIsTried(t *testing.T) {
	d := newDoubt(t)
	row := apply(t, d.Backend, set("k", time.Now()))[0].Row
	w := register(t, d.Backend)
	d.atCommit(func() {
		d.abort(t)
		won, err := d.direct.Claim(t.Context(), w, []backend.Claim{{Ref: row.Ref()}})
		require.NoError(t, err)
		require.Equal(t, []backend.Answer{backend.Won}, won)
	})
	rows, err := d.LeaseRows(t.Context(), w, time.Now(), 9)
	require.ErrorContains(t, err, unknownText)
	require.Len(t, rows, 1)
	require.Equal(t, backend.Claimed, rows[0].State)
	require.True(t, rows[0].Tried)
}

// A failover has lost a claim. Its outcome must not end the next claim of the row, whose handler may run.
func TestOnlySuccessReachesALockedPendingRow(t *testing.T) {
	for name, leased := range map[string]bool{"free": false, "leased": true} {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t, "")
			b := open(t, pool, postgres.Options{Schema: fresh(t, "lost_claim")})
			w, rows := claimed(t, b, 3)
			_, err := pool.Exec(t.Context(), `UPDATE lost_claim.entry SET state = 0, holder = CASE WHEN $1 THEN holder ELSE 0 END`, leased)
			require.NoError(t, err)
			tx, err := pool.Begin(t.Context())
			require.NoError(t, err)
			defer tx.Rollback(context.WithoutCancel(t.Context()))
			_, err = tx.Exec(t.Context(), `SELECT FROM lost_claim.entry FOR UPDATE`)
			require.NoError(t, err)
			applied, err := b.Finish(t.Context(), w, []backend.Outcome{{Ref: rows[0].Ref()}, {Ref: rows[1].Ref(), Fate: backend.Retry}, {Ref: rows[2].Ref(), Fate: backend.Bury}})
			require.NoError(t, err)
			require.Equal(t, []bool{true, false, false}, applied)
		})
	}
}
