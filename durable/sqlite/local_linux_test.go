package sqlite

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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
