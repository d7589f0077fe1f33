//go:build unix

package check

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
)

// pause stops a process until resume.
func pause(pid int) error  { return syscall.Kill(pid, syscall.SIGSTOP) }
func resume(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }
func kill(pid int) error   { return syscall.Kill(pid, syscall.SIGKILL) }

// library has descriptors of a store's files that are not the driver's.
type library struct{ database, index *os.File }

// lockAsInC takes the locks of a write transaction as an SQLite library in C does: POSIX locks on
// the database and on the index of the log. The kernel drops the locks when the process closes any
// descriptor of the file.
func lockAsInC(database string) (l library, err error) {
	if runtime.GOOS != "linux" { // elsewhere, stores do not find descriptors of others
		return l, fmt.Errorf("%w: stores find other SQLite libraries on Linux only", errors.ErrUnsupported)
	}
	const shared, sharedSize, write = 0x40000002, 510, 120 // SQLite's lock bytes
	lock := func(path string, kind int16, start, size int64) *os.File {
		f, failed := os.OpenFile(path, os.O_RDWR, 0)
		if failed == nil {
			failed = syscall.FcntlFlock(f.Fd(), syscall.F_SETLKW, &syscall.Flock_t{Type: kind, Whence: io.SeekStart, Start: start, Len: size})
		}
		err = errors.Join(err, failed)
		return f
	}
	return library{lock(database, syscall.F_RDLCK, shared, sharedSize), lock(database+"-shm", syscall.F_WRLCK, write, 1)}, err
}

// Close closes the files. The kernel drops their locks.
func (l library) Close() {
	l.index.Close()
	l.database.Close()
}
