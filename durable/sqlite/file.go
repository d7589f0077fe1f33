package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"

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
// log is beside the file that a link names.
func resolve(path string) (string, error) {
	if err := checkName(path); err != nil {
		return "", err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	file, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, os.ErrNotExist) {
		return file, err
	}
	directory, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(directory, filepath.Base(path)), err
}

// checkLinks rejects a file with several names. Each name would have its own log, and the commits
// of one log overwrite those of the other.
func checkLinks(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // a new file, or an error that opening it reports
	}
	if n := links(info); n > 1 {
		return fmt.Errorf("%w: %q has %d names (hard links), and SQLite keeps one log per name; remove the other names, or open a copy",
			backend.ErrInvalid, path, n)
	}
	return nil
}

// namedFile is an open file and the name under which Open found it.
type namedFile struct {
	path string
	info os.FileInfo
}

// nameFiles notes the files of the store. SQLite deletes neither the log nor its index while a
// connection is open.
func (b *sqliteBackend) nameFiles() error {
	for _, suffix := range [...]string{"", "-wal", "-shm"} {
		info, err := os.Stat(b.path + suffix)
		if err = errors.Join(err, unwritable(b.path+suffix)); err != nil {
			return err
		}
		b.names = append(b.names, namedFile{b.path + suffix, info})
	}
	return nil
}

// checkNames closes the store if a file has lost its name: other processes would open another
// file, and the next Open would not find the commits.
func (b *sqliteBackend) checkNames() {
	for i, f := range b.names {
		info, err := os.Stat(f.path)
		gone := errors.Is(err, fs.ErrNotExist)
		if !gone && (err != nil || os.SameFile(info, f.info)) {
			continue // an error says nothing about the name: the process may have dropped privileges
		}
		what := "was replaced"
		if gone {
			what = "was deleted or moved"
		}
		err = fmt.Errorf("%w: %q %s while it was open", backend.ErrClosed, f.path, what)
		if gone && i == 1 {
			err = errors.Join(err, b.saveLog())
		} else {
			b.keepFiles()
		}
		b.fail(err)
		return
	}
}

// saveLog copies the commits of a log without a name to the database.
func (b *sqliteBackend) saveLog() error {
	if err := b.writer.BusyTimeout(busyFor); err != nil {
		return err
	}
	_, _, err := b.writer.WALCheckpoint("main", sqlite3.CHECKPOINT_FULL)
	if err != nil {
		err = fmt.Errorf("its commits could not be saved to the database: %w", err)
	}
	return errors.Join(err, b.writer.BusyTimeout(0))
}

// keepFiles keeps Close from deleting the files that now have the names of the log and its index.
func (b *sqliteBackend) keepFiles() {
	b.writer.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true) // the file is no longer the store's in any case
	b.mu.Lock()
	b.displaced = true
	b.mu.Unlock()
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
	return err
}
