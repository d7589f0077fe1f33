package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hashedwheel/hwt/durable/backend"
)

// schemaVersion is the version of the tables that this package writes. A later version
// of the package states in meta.reader the oldest version that may work beside it.
const schemaVersion = 2

// migrations[i] leads from version i to i+1.
//
// fillfactor leaves room for claims to update a row on its page, without a change of
// the indexes. Dead rows appear as fast as entries fire: vacuum starts early and does
// not pause. Each table has a primary key: a publication FOR ALL TABLES forbids changes of others.
//
// The sequence witness has the value that is in meta, unless the rows were copied without the values
// of the sequences.
var migrations = [schemaVersion]string{`
CREATE TABLE {s}.meta (id int4 PRIMARY KEY CHECK (id = 1), version int4 NOT NULL, reader int4 NOT NULL, witness int8 NOT NULL);
CREATE SEQUENCE {s}.generation;
CREATE SEQUENCE {s}.removal;
CREATE SEQUENCE {s}.witness;
INSERT INTO {s}.meta SELECT 1, 1, 1, setval({s.witness}, {clock});
CREATE TABLE {s}.worker (id int4 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, until int8 NOT NULL) WITH (fillfactor = 50);
CREATE TABLE {s}.entry (
	slot int8 NOT NULL, generation int8 NOT NULL, due int8 NOT NULL, not_after int8 NOT NULL, origin int8 NOT NULL,
	nonce int8 NOT NULL, holder int4 NOT NULL, checksum int4 NOT NULL, attempt int4 NOT NULL, state int2 NOT NULL,
	key bytea NOT NULL, every bytea NOT NULL, schedule bytea NOT NULL, payload bytea NOT NULL,
	PRIMARY KEY (key, slot)
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0.05,
	autovacuum_vacuum_cost_delay = 0);
CREATE INDEX entry_due ON {s}.entry (due) WHERE holder = 0;
CREATE INDEX entry_holder ON {s}.entry (holder) WHERE holder <> 0;
CREATE TABLE {s}.dead (LIKE {s}.entry, error bytea NOT NULL, given_up int8 NOT NULL, PRIMARY KEY (key, generation));
`, `
SET LOCAL lock_timeout = '1s'; -- calls wait behind this transaction, which waits for a long one
ALTER TABLE {s}.entry ADD COLUMN crashes int2 NOT NULL DEFAULT 0, ADD COLUMN grp bytea NOT NULL DEFAULT '',
	ADD COLUMN headers bytea NOT NULL DEFAULT '', ADD COLUMN last bytea NOT NULL DEFAULT '';
ALTER TABLE {s}.dead ADD COLUMN crashes int2 NOT NULL DEFAULT 0, ADD COLUMN grp bytea NOT NULL DEFAULT '',
	ADD COLUMN headers bytea NOT NULL DEFAULT '', ADD COLUMN last bytea NOT NULL DEFAULT '';
UPDATE {s}.meta SET version = 2; -- reader stays 1
`}

// migrate brings the tables to this package's version. The lock keeps other processes
// out until the transaction ends.
func (b *postgresBackend) migrate(ctx context.Context, tx pgx.Tx) error {
	// search_path does what qualified does. With row_security off, a read of hidden rows fails.
	if _, err := tx.Exec(ctx, `SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
		pg_catalog.set_config('row_security', 'off', true)`); err != nil {
		return err
	}
	version, err := b.version(ctx, tx)
	if err != nil || version >= schemaVersion {
		return err
	}
	if b.options.MustExist {
		return fmt.Errorf("%w: tables of version %d (expected: %d)", backend.ErrNoStore, version, schemaVersion)
	}
	var readOnly, exists bool
	err = tx.QueryRow(ctx, `SELECT current_setting('default_transaction_read_only')::bool,
		EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, b.options.Schema).Scan(&readOnly, &exists)
	if err == nil && readOnly {
		err = fmt.Errorf("%w: default_transaction_read_only is on (expected: off, to create the tables)", backend.ErrInvalid)
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('hwt:' || $1, 0))`, b.options.Schema); err != nil {
		return err
	}
	if version, err = b.version(ctx, tx); err != nil { // another process was faster
		return err
	}
	for v := version; v < schemaVersion; v++ {
		sql := migrations[v]
		if !exists { // otherwise the role need not be allowed to create schemas
			sql = "CREATE SCHEMA IF NOT EXISTS {s};" + sql
		}
		_, err := tx.Exec(ctx, filled(b.options.Schema, false)(sql), pgx.QueryExecModeSimpleProtocol)
		if sqlState(err) == "42501" {
			return fmt.Errorf("the role lacks CREATE on the database, CREATE on the schema, or the ownership of its tables: %w", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// version returns the version of the tables, or 0 if there are none.
func (b *postgresBackend) version(ctx context.Context, tx pgx.Tx) (version int, err error) {
	var exists bool
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = 'meta')`, b.options.Schema).Scan(&exists)
	if err != nil || !exists {
		return 0, err
	}
	var reader int
	err = tx.QueryRow(ctx, b.text("SELECT version, reader FROM {s}.meta")).Scan(&version, &reader)
	switch {
	case sqlState(err) == "42501":
		return 0, fmt.Errorf("the role lacks USAGE on the schema, or SELECT on its table meta: %w", err)
	case errors.Is(err, pgx.ErrNoRows):
		return 0, fmt.Errorf("%w: the table meta is empty", backend.ErrDamaged)
	case err == nil && reader > schemaVersion:
		return 0, fmt.Errorf("%w: tables of version %d need version %d of this package or later (this is %d)",
			backend.ErrInvalid, version, reader, schemaVersion)
	}
	return version, err
}
