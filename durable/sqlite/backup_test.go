package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

// The last connection to the file removes the log.
func TestCloseEndsABackup(t *testing.T) {
	path, copied := temp(t), temp(t)
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	_, err = s.SetMany(t.Context(), func(yield func(durable.Entry) bool) {
		for i := 0; i < 30_000 && yield(durable.Entry{Key: fmt.Sprint("k", i), Due: time.Now().Add(time.Hour)}); i++ {
		}
	})
	require.NoError(t, err)
	backup := make(chan error, 1)
	go func() { backup <- s.Backup(context.Background(), copied) }()
	require.Eventually(t, func() bool {
		begun, err := filepath.Glob(copied + "*")
		return err == nil && len(begun) > 0
	}, time.Minute, time.Millisecond)
	require.NoError(t, s.Close())
	assert.NoFileExists(t, path+"-wal")
	if err := <-backup; err != nil { // it was not faster
		assert.ErrorIs(t, err, durable.ErrClosed)
		left, err := filepath.Glob(copied + "*")
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

func TestBackupRestoresToAnEqualStore(t *testing.T) {
	s := open(t, temp(t), nil)
	ctx, due := t.Context(), time.Now().Add(time.Hour)
	for i := range 100 {
		_, err := s.Set(ctx, durable.Entry{Key: fmt.Sprint("k", i), Due: due, Payload: bytes.Repeat([]byte{byte(i)}, 10*i)})
		require.NoError(t, err)
	}
	backup, path := temp(t), temp(t)
	require.NoError(t, s.Backup(ctx, backup))
	require.ErrorIs(t, s.Backup(ctx, backup), durable.ErrInvalid, "an existing file")
	_, err := s.Cancel(ctx, "k0")
	require.NoError(t, err)
	require.NoError(t, sqlite.Restore(ctx, backup, path))
	require.ErrorIs(t, sqlite.Restore(ctx, backup, path), durable.ErrInvalid)
	require.Error(t, sqlite.Restore(ctx, temp(t), temp(t)), "a missing file")
	restored := open(t, path, &sqlite.Options{MustExist: true})
	n := 0
	for e, err := range restored.All(ctx, "") {
		require.NoError(t, err)
		assert.Equal(t, due.UnixNano(), e.Due.UnixNano())
		n++
	}
	assert.Equal(t, 100, n)
}

// Another program creates the file while the backup is written.
func TestBackupKeepsFileThatItDidNotCreate(t *testing.T) {
	s := open(t, temp(t), nil)
	_, err := s.SetMany(t.Context(), func(yield func(durable.Entry) bool) {
		for i := 0; i < 10_000 && yield(durable.Entry{Key: fmt.Sprint("k", i), Due: time.Now().Add(time.Hour)}); i++ {
		}
	})
	require.NoError(t, err)
	copied := temp(t)
	backup := make(chan error, 1)
	go func() { backup <- s.Backup(t.Context(), copied) }()
	require.Eventually(t, func() bool {
		begun, err := filepath.Glob(copied + "*")
		return err == nil && len(begun) > 0
	}, time.Minute, time.Millisecond)
	f, err := os.OpenFile(copied, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil { // the backup was faster
		require.NoError(t, <-backup)
		return
	}
	require.NoError(t, f.Close())
	require.ErrorIs(t, <-backup, durable.ErrInvalid)
	content, err := os.ReadFile(copied)
	require.NoError(t, err)
	require.Empty(t, content)
}

// SQLite would apply the log of another file to the copy.
func TestRestoreRejectsLeftLog(t *testing.T) {
	s := open(t, temp(t), nil)
	backup, path := temp(t), temp(t)
	require.NoError(t, s.Backup(t.Context(), backup))
	for _, suffix := range []string{"", "-wal", "-journal"} {
		require.NoError(t, os.WriteFile(path+suffix, []byte("the last commits"), 0o600))
		require.ErrorIs(t, sqlite.Restore(t.Context(), backup, path), durable.ErrInvalid)
		left, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		require.Equal(t, "the last commits", string(left))
		require.NoError(t, os.Remove(path+suffix))
	}
	require.NoError(t, sqlite.Restore(t.Context(), backup, path))
	require.NotErrorIs(t, sqlite.Restore(t.Context(), backup, filepath.Join(path, "new")), durable.ErrInvalid, "not a directory")
}

func TestLogOfALongNameIsSetAside(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{strings.Repeat("n", 247), strings.Repeat("n", 224) + "äöü"} {
		path := filepath.Join(dir, name)
		require.NoError(t, open(t, temp(t), nil).Backup(t.Context(), filepath.Join(dir, "copy")))
		require.NoError(t, os.Rename(filepath.Join(dir, "copy"), path))
		require.NoError(t, os.WriteFile(path+"-wal", []byte("the last commits"), 0o600))
		open(t, path, nil)
		aside, err := filepath.Glob(filepath.Join(dir, "*-wal.*"))
		require.NoError(t, err)
		require.Len(t, aside, 1)
		require.True(t, strings.HasPrefix(aside[0], filepath.Join(dir, name[:224])))
		require.NoError(t, os.Remove(aside[0]))
	}
}

// An operator moves a backup over the file of a service that was killed. Its log would destroy the backup.
func TestLogOfAReplacedFileIsSetAside(t *testing.T) {
	original, path := temp(t), temp(t)
	s := open(t, original, nil)
	for i := range 200 {
		_, err := s.Set(t.Context(), durable.Entry{Key: fmt.Sprint("k", i), Due: time.Now().Add(time.Hour), Payload: make([]byte, 200)})
		require.NoError(t, err)
	}
	require.NoError(t, s.Backup(t.Context(), path))
	_, err := s.CancelMany(t.Context(), durable.Scope{All: true})
	require.NoError(t, err)
	log, err := os.ReadFile(original + "-wal") // what a kill would leave
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+"-wal", log, 0o600))
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	err = sqlite.Restore(t.Context(), path, temp(t))
	require.ErrorIs(t, err, durable.ErrInvalid)
	require.ErrorContains(t, err, path+"-wal\" is the log of another file")
	for suffix, want := range map[string][]byte{"": before, "-wal": log} {
		after, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, after), suffix)
	}

	var group sync.WaitGroup
	for i := range 4 { // the first sets the log aside, and no other takes the new log for it
		group.Go(func() {
			restored, err := sqlite.Open(t.Context(), path, &sqlite.Options{MustExist: true})
			if assert.NoError(t, err) {
				_, err = restored.Set(t.Context(), durable.Entry{Key: fmt.Sprint("new", i), Due: time.Now().Add(time.Hour)})
				assert.NoError(t, errors.Join(err, restored.Close()))
			}
		})
	}
	group.Wait()
	restored := open(t, path, nil)
	require.NoError(t, restored.Verify(t.Context()))
	require.EqualValues(t, 204, pending(t, restored))
	aside, err := filepath.Glob(path + "-wal.*")
	require.NoError(t, err)
	require.Len(t, aside, 1)
	kept, err := os.ReadFile(aside[0])
	require.NoError(t, err)
	require.True(t, bytes.Equal(log, kept))
}
