package check

import (
	"errors"
	"fmt"
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
