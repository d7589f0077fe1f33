package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// The permits of a worker leave with its row.
func TestPermitsOfForgottenWorkersAreDeleted(t *testing.T) {
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	schema := pgx.Identifier{b.Schema()}.Sanitize()
	scope := backend.Scope{Group: "tenant"}
	require.NoError(t, b.SetLimit(t.Context(), backend.Limit{Scope: scope, Running: 5}))
	all, err := b.Limited(t.Context(), backend.Version{})
	require.NoError(t, err)
	worker := register(t, b)
	_, err = b.Share(t.Context(), worker, all.Version.Newest, []backend.Demand{{Scope: scope, Wants: 9}})
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "UPDATE "+schema+".worker SET until = $1", time.Now().Add(-2*time.Hour).UnixNano())
	require.NoError(t, err)
	register(t, b)
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+schema+".permit").Scan(&n))
	require.Zero(t, n)
}
