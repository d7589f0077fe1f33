package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

func TestNameOfNoFileIsRejected(t *testing.T) {
	t.Chdir(t.TempDir())
	backup := temp(t)
	require.NoError(t, open(t, temp(t), nil).Backup(t.Context(), backup))
	for _, name := range []string{"", ":memory:", "file::memory:?cache=shared", "file:timers.db", "timers.db?_journal=WAL", "sqlite://timers.db"} {
		t.Run(name, func(t *testing.T) {
			_, err := sqlite.Open(t.Context(), name, nil)
			require.ErrorIs(t, err, durable.ErrInvalid)
			require.ErrorContains(t, err, "expected: the path of a file")
			require.ErrorIs(t, sqlite.Restore(t.Context(), name, temp(t)), durable.ErrInvalid)
			require.ErrorIs(t, sqlite.Restore(t.Context(), backup, name), durable.ErrInvalid)
		})
	}
	files, err := filepath.Glob("*")
	require.NoError(t, err)
	require.Empty(t, files)
}

// The characters have a meaning in the URIs of SQLite.
func TestFileNameIsTakenLiterally(t *testing.T) {
	for _, name := range []string{"a b.db", "a#b.db", "50%25.db", "a&vfs=b.db", "ä.db"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, filepath.Join(dir, name), nil)
			_, err := s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
			require.NoError(t, err)
			require.FileExists(t, filepath.Join(dir, name))
			require.NoError(t, s.Backup(t.Context(), filepath.Join(dir, "copy of "+name)))
			require.FileExists(t, filepath.Join(dir, "copy of "+name))
		})
	}
}

// Each name would have its own log.
func TestFileOfTwoNamesIsRejected(t *testing.T) {
	path := temp(t)
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, os.Link(path, path+".link"))
	for _, name := range []string{path, path + ".link"} {
		_, err = sqlite.Open(t.Context(), name, nil)
		require.ErrorIs(t, err, durable.ErrInvalid)
		require.ErrorContains(t, err, "has 2 names (hard links)")
	}
	require.NoError(t, os.Remove(path+".link"))
	open(t, path, nil)
}

// Set must not return nil into a file that no later Open finds.
func TestStoreClosesWhenAFileLosesItsName(t *testing.T) {
	move := func(t *testing.T, path string) { require.NoError(t, os.Rename(path, path+".moved")) }
	remove := func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }
	replace := func(t *testing.T, path string) {
		require.NoError(t, os.WriteFile(path+".new", nil, 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		for name, c := range map[string]struct {
			lose func(*testing.T, string)
			says string
		}{"moved": {move, "was deleted or moved"}, "deleted": {remove, "was deleted or moved"}, "replaced": {replace, "was replaced"}} {
			for _, every := range []time.Duration{0, 20 * time.Millisecond} {
				t.Run(name+suffix+every.String(), func(t *testing.T) {
					path := temp(t)
					s, err := sqlite.Open(t.Context(), path, &sqlite.Options{SyncEvery: every})
					require.NoError(t, err)
					defer s.Close()
					worked := make(chan error, 1)
					go func() {
						worked <- s.Work(context.Background(), func(context.Context, durable.Firing) error { return nil }, nil)
					}()
					c.lose(t, path+suffix)
					require.Eventually(t, func() bool { // the look is periodic
						_, err = s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
						return err != nil
					}, time.Minute, time.Millisecond)
					require.ErrorIs(t, err, durable.ErrClosed)
					require.ErrorContains(t, err, path+suffix)
					require.ErrorContains(t, err, c.says)
					require.ErrorIs(t, <-worked, durable.ErrClosed)
					require.NoError(t, s.Close())
					if name == "replaced" {
						require.FileExists(t, path+suffix, "Close leaves another program's file alone")
					}
				})
			}
		}
	}
}

// The process keeps the commits of a log without a name as long as it lives: a kill would lose them.
func TestDeletedLogIsSavedToTheDatabase(t *testing.T) {
	path := temp(t)
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Set(t.Context(), durable.Entry{Key: "before", Due: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.NoError(t, os.Remove(path+"-wal"))
	require.Eventually(t, func() bool {
		_, err = s.Get(t.Context(), "before")
		return err != nil
	}, time.Minute, time.Millisecond)
	content, err := os.ReadFile(path) // as after a kill
	require.NoError(t, err)
	killed := temp(t)
	require.NoError(t, os.WriteFile(killed, content, 0o600))
	_, err = open(t, killed, nil).Get(t.Context(), "before")
	assert.NoError(t, err)
}
