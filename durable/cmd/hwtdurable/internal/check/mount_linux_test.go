package check

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// mount mounts a file system of a size in memory.
func mount(dir string, size int) error {
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size))
	if errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("%w: only root may mount a file system", errors.ErrUnsupported)
	}
	return err
}

func unmount(dir string) { syscall.Unmount(dir, syscall.MNT_DETACH) } // the folder is removed afterwards

// own gives path to the owner of like.
func own(path, like string) error {
	info, err := os.Stat(like)
	if err != nil {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t)
	return os.Lchown(path, int(owner.Uid), int(owner.Gid))
}
