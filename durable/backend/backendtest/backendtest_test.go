package backendtest_test

import (
	"testing"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/backend/backendtest"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

func TestMemory(t *testing.T) {
	backendtest.Run(t, func(testing.TB) backend.Backend { return memdb.New() })
}
