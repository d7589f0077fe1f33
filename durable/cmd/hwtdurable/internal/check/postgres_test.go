package check

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// The interrupt ends pg_basebackup, whose folder is the second one.
func TestInterruptWhileTheStandbyStarts(t *testing.T) {
	dir, err := os.MkdirTemp("", "check-")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chmod(dir, 0o755)) // the server has another user
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	go func() {
		defer cancel()
		for servers := []string(nil); len(servers) < 2 && ctx.Err() == nil; time.Sleep(time.Millisecond) {
			servers, _ = filepath.Glob(filepath.Join(dir, "pgtest-*")) // the pattern is valid
		}
	}()
	_, err = postgresFaults(ctx, t.TempDir(), time.Second)
	if errors.Is(err, pgtest.ErrNotInstalled) {
		t.Skip(err)
	}
	require.ErrorIs(t, err, context.Canceled)
}

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
