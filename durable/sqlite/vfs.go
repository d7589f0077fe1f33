package sqlite

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3/vfs"
)

// vfsName is the name of the file system that files implements.
const vfsName = "hwt"

func init() { vfs.Register(vfsName, files{vfs.Find("").(vfs.VFSFilename)}) }

// files is the driver's file system with one difference: a new log or journal gets the mode and
// the owner of the database before SQLite writes to it. It contains payloads.
type files struct{ vfs.VFSFilename }

// OpenFilename implements vfs.VFSFilename.
func (f files) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if name != nil && flags&vfs.OPEN_CREATE != 0 && flags&(vfs.OPEN_WAL|vfs.OPEN_MAIN_JOURNAL) != 0 {
		if database := descriptorOf(name.DatabaseFile()); database != nil {
			if info, err := database.Stat(); err == nil {
				createLike(name.String(), info) // opening the file reports the error
			}
		}
	}
	return f.VFSFilename.OpenFilename(name, flags)
}

// descriptor has the methods of *os.File that a file of the driver's file system has, too.
type descriptor interface {
	Stat() (os.FileInfo, error)
	Fd() uintptr
}

// descriptorOf returns the descriptor of a file, or nil if the file has none.
func descriptorOf(f vfs.File) descriptor {
	for f != nil {
		if d, ok := f.(descriptor); ok {
			return d
		}
		wrapper, ok := f.(vfs.FileUnwrap)
		if !ok {
			break
		}
		f = wrapper.Unwrap()
	}
	return nil
}

// createLike creates an empty file with the mode and the owner of another file. Until it has
// both, only the user of the process has access.
func createLike(path string, like os.FileInfo) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(giveTo(f, like)), f.Close())
}

// uri returns the name of a file in a file system, for SQLite.
func uri(path, system string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: "vfs=" + url.QueryEscape(system)}).String()
}
