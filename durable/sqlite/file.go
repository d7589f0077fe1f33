package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/hashedwheel/hwt/durable/backend"
)

// checkName rejects the names that mean something else to other SQLite drivers. Here they would
// become files in the working directory.
func checkName(path string) error {
	if path == "" || strings.HasPrefix(path, ":memory:") || strings.HasPrefix(path, "file:") ||
		strings.Contains(path, "://") || strings.Contains(filepath.Base(path), "?") {
		return fmt.Errorf("%w: path %q (expected: the path of a file, neither a URI nor :memory:; Options has the settings, package durable/memory a store for tests)",
			backend.ErrInvalid, path)
	}
	return nil
}

// resolve returns the absolute path without symbolic links. SQLite resolves them, too, and its
// log is next to the file that a link names.
func resolve(path string) (string, error) {
	if err := checkName(path); err != nil {
		return "", err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	file, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		file, err = filepath.EvalSymlinks(filepath.Dir(path))
		file = filepath.Join(file, filepath.Base(path))
	}
	return file, errors.Join(err, checkLength(file))
}

// mostName is the longest name of a file, in the unit of nameLength.
const mostName = 255

// checkLength rejects a path for which SQLite's driver or the file system has no room: SQLite appends up to 8 bytes for
// the names of its other files.
func checkLength(path string) error {
	const most, more = 1024, len("-journal")
	if name, unit := nameLength(filepath.Base(path)); len(path)+more > most || name+more > mostName {
		return fmt.Errorf("%w: path of %d bytes with a name of %d %s (expected: up to %d with a name of up to %d)",
			backend.ErrInvalid, len(path), name, unit, most-more, mostName-more)
	}
	return nil
}

// nameLength returns the length of a name in the unit of the system's limit.
func nameLength(name string) (n int, unit string) {
	switch runtime.GOOS {
	case "windows", "darwin", "ios":
		return len(utf16.Encode([]rune(name))), "UTF-16 units"
	}
	return len(name), "bytes"
}

// checkLinks rejects a device and a pipe, and a file with several names. Each name would have its own
// log, and the commits of one log overwrite the commits of the other.
func checkLinks(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil, info.IsDir():
		return nil // a new file, or an error that opening it reports
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %q is a device, a pipe, or a socket (expected: a file)", backend.ErrInvalid, path)
	}
	if n := links(info); n > 1 {
		return fmt.Errorf("%w: %q has %d names (hard links), and SQLite keeps one log per name; remove the other names, or open a copy",
			backend.ErrInvalid, path, n)
	}
	return nil
}

// hasForeignLog reports whether the file of c has a log and is not in WAL mode: a copy by Backup was moved over the file
// of the log. It must be called before the connection reads the file, since SQLite then applies the log. A file gets
// into WAL mode before it gets a log.
func hasForeignLog(c *conn, path string) (bool, vfs.File, error) {
	log, err := os.Stat(path + "-wal")
	if err != nil || log.Size() == 0 {
		return false, nil, nil
	}
	control, err := c.FileControl("main", sqlite3.FCNTL_FILE_POINTER)
	file, ok := control.(vfs.File)
	if !ok || err != nil {
		return false, nil, err
	}
	var mode [1]byte
	_, err = file.ReadAt(mode[:], 18)
	return err == nil && mode[0] == 1, file, nil
}

// checkOwnLog rejects the log of another file.
func checkOwnLog(c *conn, path string) error {
	foreign, _, err := hasForeignLog(c, path)
	if foreign {
		return fmt.Errorf("%w: %q is the log of another file, which %q has replaced: it may have the last commits of that file; move it away",
			backend.ErrInvalid, path+"-wal", path)
	}
	return err
}

// leaveForeignLog sets the log of another file aside. While it does so, no connection can bring the file into WAL mode,
// since that needs the lock, too. It waits for others that do the same, or read the file.
func (f *storeFiles) leaveForeignLog(ctx context.Context, c *conn) error {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		foreign, file, err := hasForeignLog(c, f.path)
		if !foreign {
			return err
		}
		if err = lockExclusive(file); err == nil {
			if foreign, _, err = hasForeignLog(c, f.path); foreign {
				_, err = f.renameLog()
			}
			return errors.Join(err, file.Unlock(vfs.LOCK_NONE))
		}
		err = errors.Join(err, file.Unlock(vfs.LOCK_NONE))
		if !errors.Is(err, sqlite3.BUSY) || ctx.Err() != nil {
			return err
		}
		if time.Since(begun) > busyFor {
			return errors.Join(checkOwnLog(c, f.path), err)
		}
	}
}

// lockExclusive locks a file as SQLite does. After an error, the file may be locked in part.
func lockExclusive(file vfs.File) error {
	for _, level := range [...]vfs.LockLevel{vfs.LOCK_SHARED, vfs.LOCK_RESERVED, vfs.LOCK_EXCLUSIVE} {
		err := file.Lock(level)
		if err != nil && err.Error() == sqlite3.BUSY.Error() {
			return sqlite3.BUSY // the driver's own type is not exported
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// storeFiles are the file of a store, its log, and the log's index.
type storeFiles struct {
	path    string
	options Options
	log     *os.File
	names   []namedFile // as of Open
	checked time.Time   // when the names were last checked. S1
	dirty   atomic.Bool // there are commits, also of others, that SyncEvery has not synced

	displaced atomic.Bool // other files have the names of the store's
}

// namedFile is an open file and the name under which Open found it.
type namedFile struct {
	path string
	info os.FileInfo
}

// nameFiles notes the files of the store. SQLite deletes neither the log nor its index while a
// connection is open.
func (f *storeFiles) nameFiles() error {
	for _, suffix := range [...]string{"", "-wal", "-shm"} {
		info, err := os.Stat(f.path + suffix)
		if err = errors.Join(err, unwritable(f.path+suffix)); err != nil {
			return err
		}
		f.names = append(f.names, namedFile{f.path + suffix, info})
	}
	return nil
}

// setAside sets the log aside after another file has got the name of the store's file. It logs the new name. It
// does nothing if the log has lost its name, too.
func (f *storeFiles) setAside() (aside string, err error) {
	if info, err := os.Stat(f.names[1].path); err != nil || !os.SameFile(info, f.names[1].info) {
		return "", nil
	}
	return f.renameLog()
}

// renameLog renames the log of a file that has lost its name. Before, it deletes the log's index: a process that opens the
// new file between the two must not apply the index to a new log. The new name is logged in another goroutine: a handler of
// the Logger may write to the store, whose writer calls renameLog.
func (f *storeFiles) renameLog() (aside string, err error) {
	log, dir, name := f.path+"-wal", filepath.Dir(f.path), filepath.Base(f.path)
	suffix := "-wal." + time.Now().UTC().Format("20060102T150405.000000000")
	for len(name)+len(suffix) > mostName { // bytes fit every system
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	aside = filepath.Join(dir, name+suffix)
	if err := os.Remove(f.path + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.Rename(log, aside); err != nil {
		return "", err
	}
	go f.options.Logger.Warn("durable: another file has replaced the file of a log; the log has a new name", "file", f.path, "log", aside)
	return aside, syncDirectory(dir)
}

// lostName returns the first file that has lost its name, or "". It is deleted or moved, or
// another file has its name.
func (f *storeFiles) lostName() (path string, replaced bool) {
	for _, n := range f.names {
		info, err := os.Stat(n.path)
		gone := errors.Is(err, fs.ErrNotExist)
		if !gone && (err != nil || os.SameFile(info, n.info)) {
			continue // an error says nothing about the name: the process may have dropped privileges
		}
		return n.path, !gone
	}
	return "", false
}

// explain adds the user and the obstacle to an error of access: SQLite's "unable to open database
// file" names neither, and its cause may be the log.
func explain(path string, err error) error {
	access := errors.Is(err, fs.ErrPermission)
	for _, code := range [...]sqlite3.ErrorCode{sqlite3.CANTOPEN, sqlite3.READONLY, sqlite3.PERM} {
		access = access || errors.Is(err, code)
	}
	if !access {
		return err
	}
	if obstacle := forbidden(path); obstacle != nil {
		return fmt.Errorf("%w (%w)", obstacle, err)
	}
	if errors.As(err, new(*fs.PathError)) {
		return err // names its cause
	}
	d, obstacle := os.Open(filepath.Dir(path)) // which fails without a free descriptor. Closing the file itself may drop locks.
	if obstacle != nil {
		return fmt.Errorf("%w: %w", err, obstacle)
	}
	d.Close()
	return err
}

// settings are the pragmas of the connections that write.
func (f *storeFiles) settings() []string {
	synchronous := "synchronous = FULL"
	if f.options.SyncEvery > 0 {
		synchronous = "synchronous = NORMAL"
	}
	return []string{synchronous, "fullfsync = ON", "checkpoint_fullfsync = ON",
		fmt.Sprintf("wal_autocheckpoint = %d", f.options.checkpoint),
		fmt.Sprintf("journal_size_limit = %d", 4*f.options.checkpoint*4096), // a long read makes the log grow
		"temp_store = MEMORY"}
}

// openLog syncs the log, possibly of a killed process, and keeps it open: later, the process may
// have no free descriptors, or fewer rights.
func (f *storeFiles) openLog() (err error) {
	if f.log, err = os.OpenFile(f.path+"-wal", os.O_RDWR, 0); err != nil {
		return err
	}
	return f.options.sync(f.log)
}

// logMagic begins a log. Its last bit is the byte order of the checksums.
const logMagic = 0x377f0682

// isLogCut reports whether a log that has frames has lost its beginning.
func (f *storeFiles) isLogCut(frames int) bool {
	var magic [4]byte
	_, err := f.log.ReadAt(magic[:], 0)
	return frames > 0 && (err == io.EOF || err == nil && binary.BigEndian.Uint32(magic[:])&^1 != logMagic)
}

// syncDirectory makes the creation and deletion of files in a directory durable. SQLite
// leaves that to the first sync of its log.
func syncDirectory(path string) error {
	if runtime.GOOS == "windows" { // cannot
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
