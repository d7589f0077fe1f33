package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// SQLite's driver panics at a longer path, and its log has no room beside a longer name.
func TestTooLongPathIsRejected(t *testing.T) {
	s, dir := open(t, temp(t), nil), t.TempDir()
	deep := dir
	for len(deep) < 1020 {
		deep = filepath.Join(deep, strings.Repeat("d", 100))
	}
	require.NoError(t, os.MkdirAll(deep, 0o700))
	for name, path := range map[string]string{"path": filepath.Join(deep, "timers.db"), "name": filepath.Join(dir, strings.Repeat("n", 248))} {
		t.Run(name, func(t *testing.T) {
			_, err := sqlite.Open(t.Context(), path, nil)
			require.ErrorIs(t, err, durable.ErrInvalid)
			require.ErrorContains(t, err, "(expected: up to 1016 with a name of up to 247)")
			require.ErrorIs(t, s.Backup(t.Context(), path), durable.ErrInvalid)
		})
	}
	longest := filepath.Join(dir, strings.Repeat("n", 247))
	open(t, longest, nil)
	require.ErrorContains(t, s.Backup(t.Context(), filepath.Join(dir, strings.Repeat("b", 247))), "with a name of 255 ") // with .partial
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 4) // and a directory
}
