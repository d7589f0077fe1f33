package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"github.com/hashedwheel/hwt/durable"
)

// Backup writes a consistent and compact copy of the whole file to path, while the store
// is in use. The path must not exist. The copy is a store: Open opens it. A program that
// continues from a backup repeats the firings since then, with the same IDs.
//
// The copy gets its name when it is complete, and has the mode and, for root, the owner of the
// file. A process that dies before leaves a file with a name that ends in ".partial". Delete it
// before the next copy to the same path.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := s.backend.apart(ctx, func(c *conn) error { return c.copyTo(path) }); err != nil {
		return fmt.Errorf("sqlite: Backup to %q: %w", path, err)
	}
	return nil
}

// Restore copies a backup to path, as Backup does, after it has verified the backup. Move
// a log of the replaced store, path-wal, away with it: it may have the last commits.
func Restore(ctx context.Context, backup, path string) error {
	if err := restore(ctx, backup, path); err != nil {
		return fmt.Errorf("sqlite: Restore %q to %q: %w", backup, path, err)
	}
	return nil
}

func restore(ctx context.Context, backup, path string) error {
	backup, err := resolve(backup)
	if err == nil {
		err = process.checkForeign(backup)
	}
	if err != nil {
		return err
	}
	c, err := open(ctx, backup, vfsName, sqlite3.OPEN_READONLY)
	if err != nil {
		return explain(backup, translate(ctx, err))
	}
	defer process.release(c, true)
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	var version int
	if err = checkOwnLog(c, backup); err == nil {
		version, err = schemaVersion(c)
	}
	if err == nil && version == 0 {
		err = durable.ErrNoStore
	}
	if err == nil {
		err = c.verify()
	}
	if err != nil {
		return explain(backup, translate(ctx, err)) // SQLite opens the log at the first read
	}
	return translate(ctx, c.copyTo(path))
}

// copyTo copies the file, and syncs the copy and its name. An incomplete copy has another name.
func (c *conn) copyTo(path string) error {
	path, err := resolve(path)
	if err != nil {
		return err
	}
	source, err := os.Stat(c.Filename("main").String())
	if err != nil {
		return err
	}
	partial := path + ".partial"
	if err = checkLength(partial); err == nil {
		err = createLike(partial, source)
	}
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: %q exists; delete it unless another copy is being written", durable.ErrInvalid, partial)
	}
	if err != nil {
		return err
	}
	if err = checkNew(path); err == nil {
		err = c.vacuumInto(uri(partial, vfsName))
	}
	if err == nil {
		err = errors.Join(syncFile(partial), checkNew(path))
	}
	if err == nil {
		err = os.Rename(partial, path)
	}
	if err != nil {
		os.Remove(partial)
		os.Remove(partial + "-journal") // which SQLite leaves on a full disk
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

// checkNew returns an error if there is a file, or a log that SQLite would apply to a new one.
func checkNew(path string) error {
	for _, suffix := range [...]string{"", "-wal", "-journal"} {
		_, err := os.Lstat(path + suffix)
		if err == nil {
			return fmt.Errorf("%w: %q exists (expected: a new file)", durable.ErrInvalid, path+suffix)
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (c *conn) vacuumInto(path string) error {
	s, _, err := c.Prepare("VACUUM INTO ?")
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.BindText(1, path); err != nil {
		return err
	}
	return s.Exec()
}

// Verify reads the whole file: SQLite's structures, the checksum of every entry and dead
// letter, and the counts. It returns an error that wraps durable.ErrDamaged and describes up to
// 100 faults, or nil. Other calls continue.
func (s *Store) Verify(ctx context.Context) error {
	if err := s.backend.apart(ctx, (*conn).verify); err != nil {
		return fmt.Errorf("sqlite: Verify: %w", err)
	}
	return nil
}

const maxFaults = 100

// verify checks everything inside one snapshot. After the end of a context that interrupts c,
// the snapshot ends with the connection.
func (c *conn) verify() error {
	if err := c.Exec("BEGIN"); err != nil {
		return err
	}
	defer c.rollback()
	var faults []error
	note := func(err error) {
		if err != nil && len(faults) < maxFaults {
			faults = append(faults, err)
		}
	}
	err := c.query("PRAGMA integrity_check").each(func(q *query) error {
		if text := q.s.ColumnText(0); text != "ok" {
			note(fmt.Errorf("%w: %s", durable.ErrDamaged, text))
		}
		return nil
	})
	if err != nil {
		return errors.Join(append(faults, err)...)
	}
	counted := verifyRows(c, note)
	note(c.query("SELECT pending, claimed, dead, large, pauses FROM hwt_store").each(func(q *query) error {
		stored := state{pending: q.s.ColumnInt64(0), claimed: q.s.ColumnInt64(1), dead: q.s.ColumnInt64(2), large: q.s.ColumnInt64(3), pauses: q.s.ColumnInt64(4)}
		if stored != counted {
			return fmt.Errorf("%w: counts %+v (expected: %+v)", durable.ErrDamaged, stored, counted)
		}
		return nil
	}))
	return errors.Join(faults...)
}

// verifyRows notes the faults of each row, and counts the rows.
func verifyRows(c *conn, note func(error)) (counted state) {
	note(c.query("SELECT " + columns + " FROM hwt_entries AS t").each(func(q *query) error {
		r, err := scan(q)
		note(err)
		if r.Holder == 0 {
			counted.pending++
		} else {
			counted.claimed++
		}
		return nil
	}))
	note(c.query(`SELECT key, gen, slot, holder FROM hwt_entries WHERE slot NOT IN (0, gen)
		OR holder <> 0 AND holder NOT IN (SELECT id FROM hwt_workers)`).each(func(q *query) error {
		note(fmt.Errorf("%w: key %.64q, generation %d: slot %d, worker %d (expected: slot 0 or the generation, a known worker or 0)",
			durable.ErrDamaged, q.s.ColumnRawBlob(0), q.s.ColumnInt64(1), q.s.ColumnInt64(2), q.s.ColumnInt64(3)))
		return nil
	}))
	note(c.query("SELECT " + deadColumns + " FROM hwt_dead AS t").each(func(q *query) error {
		_, err := scanDead(q)
		note(err)
		counted.dead++
		return nil
	}))
	note(c.query("SELECT prefix, grp, running, per_second, burst FROM hwt_limits").each(func(q *query) error {
		_, err := scanLimit(q)
		note(err)
		return nil
	}))
	var err error
	counted.large, err = c.query("SELECT count(*) FROM hwt_payloads").integer()
	note(err)
	counted.pauses, err = c.query("SELECT count(*) FROM hwt_pauses").integer()
	note(err)
	return counted
}
