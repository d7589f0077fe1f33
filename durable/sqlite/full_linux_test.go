package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

// A full file system rejects operations without an effect. The store continues when there
// is space again.
func TestFullFileSystemRejectsUntilThereIsSpace(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); errors.Is(err, syscall.EPERM) {
		t.Skip("only root may mount a file system")
	} else {
		require.NoError(t, err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "timers.db"), nil)
	require.NoError(t, err)
	defer s.Close()
	due := time.Now().Add(time.Hour).UTC()
	before, err := s.Set(t.Context(), durable.Entry{Key: "k", Due: due})
	require.NoError(t, err)
	other, err := os.Create(filepath.Join(dir, "other"))
	require.NoError(t, err)
	defer other.Close()
	for err == nil {
		_, err = other.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	for range 3 {
		_, err = s.Set(t.Context(), durable.Entry{Key: "k", Due: due.Add(time.Hour), Payload: make([]byte, 8000)})
		require.ErrorIs(t, err, durable.ErrFull)
		after, err := s.Get(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, before.Generation, after.Generation)
	}
	require.NoError(t, os.Truncate(other.Name(), 0))
	_, err = s.Set(t.Context(), durable.Entry{Key: "k", Due: due.Add(time.Hour), Payload: make([]byte, 8000)})
	require.NoError(t, err)
}
