package backendtest_test

import (
	"testing"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/backend/backendtest"
)

func TestMemory(t *testing.T) {
	backendtest.Run(t, func(testing.TB) backend.Backend { return backendtest.NewMemory() })
}
