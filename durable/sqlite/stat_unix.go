//go:build unix

package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// links returns the number of names of a file.
func links(info os.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}

// giveTo gives a new file to the owner and the group of another file, if the process may. It
// returns the mode for it: without the rights of the group if the group is a different one.
func giveTo(f *os.File, like os.FileInfo) os.FileMode {
	mode := like.Mode().Perm()
	stat, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return mode
	}
	f.Chown(-1, int(stat.Gid)) // apart: a user may change the group only
	f.Chown(int(stat.Uid), -1)
	if info, err := f.Stat(); err == nil {
		if now, ok := info.Sys().(*syscall.Stat_t); ok && now.Gid != stat.Gid {
			mode &^= 0o070
		}
	}
	return mode
}

const mayRead, mayWrite, maySearch = 4, 2, 1

// forbidden returns an error that names the first file of the store which the user may not use.
func forbidden(path string) error {
	directory := filepath.Dir(path)
	return cmp.Or(
		forbids(directory, "search", maySearch),
		unwritable(path), unwritable(path+"-wal"), unwritable(path+"-shm"),
		forbids(directory, "create files in", maySearch|mayWrite))
}

// unwritable returns an error if the user may not change a file. SQLite opens the index of a log
// even so, and the first write fails.
func unwritable(path string) error { return forbids(path, "read and write", mayRead|mayWrite) }

func forbids(path, verb string, mode uint32) error {
	err := syscall.Access(path, mode)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	about := ""
	if info, err := os.Stat(path); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			about = fmt.Sprintf(" (mode %04o, owner %d, group %d)", info.Mode().Perm(), stat.Uid, stat.Gid)
		}
	}
	return fmt.Errorf("user %d may not %s %q%s: %w", os.Getuid(), verb, path, about, err)
}
