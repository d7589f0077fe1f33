package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// SQLite's log is beside the file that a link names.
func TestOpenSyncsTheLogBehindALink(t *testing.T) {
	path, link := filepath.Join(t.TempDir(), "timers.db"), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err) // Windows without the privilege
	}
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	var synced string
	s, err := Open(t.Context(), link, &Options{sync: func(path string) error {
		synced = path
		return nil
	}})
	require.NoError(t, err)
	defer s.Close()
	require.FileExists(t, synced)
}

// Lease and Get need the connections for reads.
func TestVerifyTakesNoReader(t *testing.T) {
	s := openTemp(t)
	for range readers {
		defer func(c *conn) { s.backend.readers <- c }(<-s.backend.readers)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, s.Verify(ctx))
}
