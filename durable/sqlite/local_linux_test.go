package sqlite

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

func TestNetworkFileSystemsAreRejected(t *testing.T) {
	assert.ErrorContains(t, refuseNetwork("/data", 0x6969), `directory "/data" is on NFS`)
	assert.NoError(t, refuseNetwork("/data", 0xef53), "ext4")
	assert.NoError(t, checkLocal(t.TempDir()))
}

// bindfs, of the Debian package of that name, stands for sshfs, s3fs, and others.
func TestFUSENeedsAnyFileSystem(t *testing.T) {
	mounted := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "bindfs", t.TempDir(), mounted).CombinedOutput(); err != nil {
		t.Skipf("bindfs cannot mount: %v %s", err, out)
	}
	defer exec.Command("fusermount", "-u", mounted).Run()
	path := filepath.Join(mounted, "timers.db")
	_, err := Open(t.Context(), path, nil)
	assert.ErrorContains(t, err, "is on FUSE")
	s, err := Open(t.Context(), path, &Options{AnyFileSystem: true})
	if assert.NoError(t, err) {
		_, err = s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
		assert.NoError(t, errors.Join(err, s.Verify(t.Context()), s.Close()))
	}
}

// SQLite creates a log's index for the first read of a stopped store.
func TestRestoreFromAReadOnlyMountNamesTheObstacle(t *testing.T) {
	source, mounted := t.TempDir(), t.TempDir()
	s, err := Open(t.Context(), filepath.Join(source, "timers.db"), nil)
	require.NoError(t, err)
	require.NoError(t, s.Backup(t.Context(), filepath.Join(source, "backup.db")))
	require.NoError(t, s.Close())
	if err := syscall.Mount(source, mounted, "", syscall.MS_BIND, ""); errors.Is(err, syscall.EPERM) {
		t.Skip("only root may mount a directory")
	} else {
		require.NoError(t, err)
	}
	defer syscall.Unmount(mounted, syscall.MNT_DETACH)
	require.NoError(t, syscall.Mount("", mounted, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	err = Restore(t.Context(), filepath.Join(mounted, "timers.db"), filepath.Join(t.TempDir(), "new.db"))
	require.ErrorIs(t, err, syscall.EROFS)
	require.ErrorContains(t, err, "may not read and write")
	require.NoError(t, Restore(t.Context(), filepath.Join(mounted, "backup.db"), filepath.Join(t.TempDir(), "new.db")))
}

// Docker mounts a single file so. The log is not on the same file system as the file.
func TestMountedFileIsRejected(t *testing.T) {
	dir := t.TempDir()
	source, path := filepath.Join(dir, "host.db"), filepath.Join(dir, "a b\t\\.db")
	s, err := Open(t.Context(), source, nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	if err := syscall.Mount(source, path, "", syscall.MS_BIND, ""); errors.Is(err, syscall.EPERM) {
		t.Skip("only root may mount a file")
	} else {
		require.NoError(t, err)
	}
	defer syscall.Unmount(path, syscall.MNT_DETACH)
	_, err = Open(t.Context(), path, nil)
	require.ErrorIs(t, err, durable.ErrInvalid)
	require.ErrorContains(t, err, "mount the directory")
	s, err = Open(t.Context(), source, nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}
