package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hashedwheel/hwt/durable/backend"
)

// schemaVersion is the version of the tables that this package writes. A later version
// of the package states in meta.reader the oldest version that may work beside it.
const schemaVersion = 1

// migrations[i] leads from version i to i+1.
//
// fillfactor leaves room for claims to update a row on its page, without a change of
// the indexes. Dead rows appear as fast as entries fire: vacuum starts early and does
// not pause.
var migrations = [schemaVersion]string{`
CREATE TABLE {s}.meta (version int4 NOT NULL, reader int4 NOT NULL);
INSERT INTO {s}.meta VALUES (1, 1);
CREATE SEQUENCE {s}.generation;
CREATE SEQUENCE {s}.removal;
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
`}

// missingSQL names the privileges that the role lacks beside USAGE on the schema.
const missingSQL = `SELECT need || ' on the ' || kind || ' ' || name
	FROM (VALUES ('sequence', 'generation', 'USAGE'), ('sequence', 'removal', 'USAGE'), ('table', 'meta', 'SELECT'),
		('table', 'entry', 'SELECT INSERT UPDATE DELETE'), ('table', 'dead', 'SELECT INSERT UPDATE DELETE'),
		('table', 'worker', 'SELECT INSERT UPDATE DELETE')) p (kind, name, needs), string_to_table(needs, ' ') need
	WHERE NOT CASE WHEN kind = 'table' THEN has_table_privilege(format('%I.%I', $1::text, name), need)
		ELSE has_sequence_privilege(format('%I.%I', $1::text, name), need) END`

// prepare creates or upgrades the tables, and checks the privileges.
func (b *postgresBackend) prepare(ctx context.Context) error {
	err := b.insist(ctx, func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, b.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error { return b.migrate(ctx, tx) })
	})
	var lacks []string
	if err == nil {
		err = b.insist(ctx, func(ctx context.Context) error {
			lacks = nil
			return b.simple(ctx, query(each(&lacks), missingSQL, b.options.Schema))
		})
	}
	if err == nil && len(lacks) > 0 {
		err = fmt.Errorf("the role lacks %s", strings.Join(lacks, ", "))
	}
	if err != nil {
		return fmt.Errorf("postgres: schema %q: %w", b.options.Schema, err)
	}
	return nil
}

// migrate brings the tables to this package's version. The lock keeps other processes
// out until the transaction ends.
func (b *postgresBackend) migrate(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "SET LOCAL search_path = pg_catalog, pg_temp"); err != nil { // as qualified does
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
		sql = strings.ReplaceAll(sql, "{s}", pgx.Identifier{b.options.Schema}.Sanitize())
		_, err := tx.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
		if sqlState(err) == "42501" {
			return fmt.Errorf("the role lacks CREATE on the database, or CREATE on the schema: %w", err)
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
