package postgres_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/backend/backendtest"
	"github.com/hashedwheel/hwt/durable/postgres"
)

func TestBackendKeepsTheContract(t *testing.T) {
	pool := newPool(t, "")
	backendtest.Run(t, func(t testing.TB) backend.Backend {
		schema := fmt.Sprint("suite", schemas.Add(1))
		return damager{open(t, pool, postgres.Options{Schema: fresh(t, schema)}), pool, schema}
	})
}

type damager struct {
	*postgres.Backend
	pool   *pgxpool.Pool
	schema string
}

func (d damager) Damage(t testing.TB, key string) {
	for _, table := range []string{"entry", "dead"} {
		_, err := d.pool.Exec(t.Context(), "UPDATE "+d.schema+"."+table+" SET due = due + 1 WHERE key = $1", []byte(key))
		require.NoError(t, err)
	}
}
