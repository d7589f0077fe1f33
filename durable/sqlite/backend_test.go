package sqlite

import (
	"os"
	"path/filepath"
	"testing"

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
