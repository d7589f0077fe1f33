package check

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// The server has no standby.
func TestWaitForTheServerEndsWithItsContext(t *testing.T) {
	server, err := pgtest.Start(t.Context(), nil)
	if errors.Is(err, pgtest.ErrNotInstalled) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.ErrorIs(t, (&cluster{primary: server}).awaitSync(ctx), context.DeadlineExceeded)
}
