//go:build unix

package embedded

import (
	"errors"
	"os"
	"syscall"
)

// lockFile opens path and locks it until it is closed or the process ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.New("it is open already, here or in another process")
		}
		return nil, err
	}
	return f, nil
}
