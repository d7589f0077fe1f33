package postgres_test

import (
	"testing"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/backend/backendtest"
	"github.com/hashedwheel/hwt/durable/postgres"
)

func TestBackendKeepsTheContract(t *testing.T) {
	pool := newPool(t, "")
	backendtest.Run(t, func(t testing.TB) backend.Backend { return open(t, pool, postgres.Options{}) })
}
