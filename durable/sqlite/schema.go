package sqlite

import (
	"fmt"

	"github.com/hashedwheel/hwt/durable"
)

// migrations lead from each version of the schema to the next: the first one creates
// version 1. A migration keeps the tables readable for the version before it.
var migrations = []string{`
CREATE TABLE hwt_store (
	id         INTEGER PRIMARY KEY CHECK (id = 1),
	version    INTEGER NOT NULL,
	generation INTEGER NOT NULL DEFAULT 0,
	worker     INTEGER NOT NULL DEFAULT 0,
	pending    INTEGER NOT NULL DEFAULT 0,
	claimed    INTEGER NOT NULL DEFAULT 0,
	dead       INTEGER NOT NULL DEFAULT 0,
	large      INTEGER NOT NULL DEFAULT 0 -- rows of hwt_payloads
);
INSERT INTO hwt_store (id, version) VALUES (1, 1);
CREATE TABLE hwt_entries (
	key       BLOB    NOT NULL,
	slot      INTEGER NOT NULL, -- 0, or the generation of a detached row
	gen       INTEGER NOT NULL,
	due       INTEGER NOT NULL,
	holder    INTEGER NOT NULL, -- worker that claimed the row, or 0
	sum       INTEGER NOT NULL, -- see holderMark
	not_after INTEGER NOT NULL,
	attempt   INTEGER NOT NULL,
	every     BLOB,
	schedule  BLOB,
	origin    INTEGER NOT NULL, -- 0 if it is gen
	nonce     INTEGER NOT NULL,
	payload   BLOB, -- or the id of a large one
	PRIMARY KEY (key, slot)
) WITHOUT ROWID;
CREATE INDEX hwt_due ON hwt_entries (due, key, slot) WHERE holder = 0;
CREATE INDEX hwt_holder ON hwt_entries (holder) WHERE holder > 0;
CREATE TABLE hwt_dead (
	key       BLOB    NOT NULL,
	gen       INTEGER NOT NULL,
	due       INTEGER NOT NULL,
	sum       INTEGER NOT NULL,
	not_after INTEGER NOT NULL,
	attempt   INTEGER NOT NULL,
	every     BLOB,
	schedule  BLOB,
	origin    INTEGER NOT NULL,
	nonce     INTEGER NOT NULL,
	payload   BLOB,
	detached  INTEGER NOT NULL,
	error     BLOB,
	given_up  INTEGER NOT NULL,
	PRIMARY KEY (key, gen)
) WITHOUT ROWID;
CREATE TABLE hwt_payloads (
	id      INTEGER PRIMARY KEY,
	payload BLOB NOT NULL
);
CREATE TABLE hwt_workers (
	id      INTEGER PRIMARY KEY,
	expires INTEGER NOT NULL
);`, `
DROP INDEX IF EXISTS hwt_due;
DROP INDEX IF EXISTS hwt_holder;
CREATE INDEX hwt_due ON hwt_entries (due, key, slot); -- without holder: a claim changes no index
UPDATE hwt_store SET version = 2;`, `
UPDATE hwt_entries SET sum = (sum & 4294967295) | (` + holderMark + ` << 32) WHERE holder <> 0;
UPDATE hwt_store SET version = 3;`, `
ALTER TABLE hwt_entries ADD COLUMN grp BLOB;
ALTER TABLE hwt_entries ADD COLUMN headers BLOB;
ALTER TABLE hwt_entries ADD COLUMN crashes INTEGER;
ALTER TABLE hwt_entries ADD COLUMN last BLOB;
ALTER TABLE hwt_dead ADD COLUMN grp BLOB;
ALTER TABLE hwt_dead ADD COLUMN headers BLOB;
ALTER TABLE hwt_dead ADD COLUMN crashes INTEGER;
ALTER TABLE hwt_dead ADD COLUMN last BLOB;
ALTER TABLE hwt_store ADD COLUMN pauses INTEGER NOT NULL DEFAULT 0; -- rows of hwt_pauses
CREATE TABLE hwt_pauses (
	prefix BLOB    NOT NULL,
	grp    BLOB    NOT NULL,
	reason BLOB    NOT NULL,
	actor  BLOB    NOT NULL,
	since  INTEGER NOT NULL,
	PRIMARY KEY (prefix, grp)
) WITHOUT ROWID;
UPDATE hwt_store SET version = 4;`, `
CREATE TABLE hwt_limits (
	prefix     BLOB    NOT NULL,
	grp        BLOB    NOT NULL,
	running    INTEGER NOT NULL,
	per_second REAL    NOT NULL,
	burst      INTEGER NOT NULL,
	version    INTEGER NOT NULL, -- a generation
	busy       INTEGER NOT NULL DEFAULT 0, -- next free time of the tokens
	PRIMARY KEY (prefix, grp)
) WITHOUT ROWID;
CREATE TABLE hwt_permits (
	prefix BLOB    NOT NULL,
	grp    BLOB    NOT NULL,
	worker INTEGER NOT NULL,
	held   INTEGER NOT NULL,
	wants  INTEGER NOT NULL,
	PRIMARY KEY (prefix, grp, worker)
) WITHOUT ROWID;
ALTER TABLE hwt_workers ADD COLUMN limits INTEGER; -- newest version that the worker knows; NULL of an older release
DROP INDEX IF EXISTS hwt_due;
CREATE INDEX hwt_due ON hwt_entries (due, key, slot, grp); -- with grp: a look passes over groups without a look at their rows
UPDATE hwt_store SET version = 5;`}

// migrate brings the schema to the newest version, inside a transaction.
func migrate(c *conn) error {
	version, err := schemaVersion(c)
	if err != nil {
		return err
	}
	if version == len(migrations) {
		return nil
	}
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer c.rollback()                               // no effect after COMMIT
	if version, err = schemaVersion(c); err != nil { // another process may have been faster
		return err
	}
	for ; version < len(migrations); version++ {
		if err := c.Exec(migrations[version]); err != nil {
			return fmt.Errorf("schema version %d: %w", version+1, err)
		}
	}
	return c.Exec("COMMIT")
}

// schemaVersion returns 0 if the file has no store, and an error for a newer release's.
func schemaVersion(c *conn) (version int, err error) {
	found := false
	err = c.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'hwt_store'").each(func(*query) error {
		found = true
		return nil
	})
	if err != nil || !found {
		return 0, err
	}
	err = c.query("SELECT version FROM hwt_store").each(func(q *query) error {
		version = int(q.s.ColumnInt64(0))
		return nil
	})
	if err == nil && version == 0 {
		err = fmt.Errorf("%w: table hwt_store has no version", durable.ErrDamaged)
	}
	if version > len(migrations) {
		err = fmt.Errorf("the store has schema version %d (expected: up to %d); use a newer release of durable/sqlite", version, len(migrations))
	}
	return version, err
}
