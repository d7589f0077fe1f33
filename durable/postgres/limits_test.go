package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// Workers share their limits twice per second, beside the permits of any number of other limits and workers.
func TestShareReadsOnlyPermitsOfItsLimits(t *testing.T) {
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	worker, ended := register(t, b), register(t, b)
	require.NoError(t, b.SetLimit(t.Context(), backend.Limit{Scope: backend.Scope{Prefix: "p7"}, Running: 5}))
	_, err := pool.Exec(t.Context(), fmt.Sprintf(`INSERT INTO %[1]s.permit SELECT convert_to('p' || n, 'UTF8'), '', %[2]d, 5, 5 FROM generate_series(1, 20000) n;
		ANALYZE %[1]s.permit; ANALYZE %[1]s.worker; ANALYZE %[1]s.limits; UPDATE %[1]s.worker SET until = 1 WHERE id = %[2]d`,
		pgx.Identifier{b.Schema()}.Sanitize(), ended), pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	plans, err := b.SharePlans(t.Context(), worker, "p7")
	require.NoError(t, err)
	require.NotContains(t, plans, "Seq Scan on permit")
	require.Contains(t, plans, "permit_pkey")
	all, err := b.Limited(t.Context(), backend.Version{})
	require.NoError(t, err)
	grants, err := b.Share(t.Context(), worker, all.Version.Newest, []backend.Demand{{Scope: backend.Scope{Prefix: "p7"}, Wants: 9}})
	require.NoError(t, err)
	require.Equal(t, 5, grants[0].Held, "permits that the ended worker had")
}

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
