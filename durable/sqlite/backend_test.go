package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
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

// Another process has the file open: SQLite does not sync when this one closes it.
func TestCloseSyncsWhatSyncEveryHasNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timers.db")
	other, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	defer other.Close()
	var syncs atomic.Int64
	s, err := Open(t.Context(), path, &Options{SyncEvery: 10 * time.Second, sync: func(string) error {
		syncs.Add(1)
		return nil
	}})
	require.NoError(t, err)
	_, err = s.Set(t.Context(), "k", time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	before := syncs.Load()
	require.NoError(t, s.Close())
	require.Equal(t, before+1, syncs.Load())
}

// The other process may die before it syncs its commit.
func TestSyncEverySyncsCommitsOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timers.db")
	s, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	defer s.Close()
	synced := make(chan struct{}, 100)
	reader, err := Open(t.Context(), path, &Options{SyncEvery: 10 * time.Millisecond, sync: func(string) error {
		synced <- struct{}{}
		return nil
	}})
	require.NoError(t, err)
	defer reader.Close()
	<-synced // by Open
	for _, writer := range []*Store{reader, s} {
		_, err = writer.Set(t.Context(), "k", time.Now().Add(time.Hour), nil)
		require.NoError(t, err)
		select {
		case <-synced:
		case <-time.After(time.Minute):
			require.Fail(t, "no sync")
		}
	}
}
