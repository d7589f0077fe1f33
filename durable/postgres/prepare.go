package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hashedwheel/hwt/durable/backend"
)

// missingSQL names the privileges that the role lacks in addition to USAGE on the schema.
const missingSQL = `SELECT need || ' on the ' || kind || ' ' || name
	FROM (VALUES ('sequence', 'witness', 'USAGE'), ('sequence', 'worker_id_seq', 'USAGE'), ('sequence', 'generation', 'USAGE'),
		('sequence', 'removal', 'USAGE'), ('table', 'meta', 'SELECT'),
		('table', 'entry', 'SELECT INSERT UPDATE DELETE'), ('table', 'dead', 'SELECT INSERT UPDATE DELETE'),
		('table', 'worker', 'SELECT INSERT UPDATE DELETE'), ('table', 'pause', 'SELECT INSERT UPDATE DELETE'),
		('table', 'limits', 'SELECT INSERT UPDATE DELETE'), ('table', 'permit', 'SELECT INSERT UPDATE DELETE')) p (kind, name, needs), string_to_table(needs, ' ') need
	WHERE NOT CASE WHEN kind = 'table' THEN has_table_privilege(format('%I.%I', $1::text, name), need)
		ELSE has_sequence_privilege(format('%I.%I', $1::text, name), need) END`

// hiddenSQL names the tables with rows that row-level security may hide from the role.
const hiddenSQL = `SELECT c.relname FROM pg_class c
	WHERE c.oid = ANY(ARRAY[{s.meta}, {s.entry}, {s.dead}, {s.worker}, {s.pause}, {s.limits}, {s.permit}]::oid[]) AND row_security_active(c.oid) ORDER BY c.relname`

// copiedSQL is whether the rows were copied without the values of the sequences, as logical
// replication does, or workers would get the IDs of others; and whether the role may correct that.
const copiedSQL = `SELECT witness <> coalesce(pg_sequence_last_value({s.witness}), 0)
	OR coalesce(pg_sequence_last_value({s.worker_id_seq}), 0) < greatest((SELECT max(id) FROM {s}.worker),
		(SELECT max(holder) FROM {s}.entry WHERE holder <> 0), 0),
	has_sequence_privilege({s.witness}, 'UPDATE') AND has_sequence_privilege({s.generation}, 'UPDATE')
		AND has_sequence_privilege({s.worker_id_seq}, 'UPDATE') AND current_setting('transaction_read_only') = 'off'
	FROM {s}.meta`

// behindSQL are the sequences behind their rows, with the largest value of the rows.
const behindSQL = `SELECT name, rows FROM (VALUES
		('generation', coalesce(pg_sequence_last_value({s.generation}), 0),
			greatest((SELECT max(generation) FROM {s}.entry), (SELECT max(generation) FROM {s}.dead),
				(SELECT max(version) FROM {s}.limits), (SELECT max(limits) FROM {s}.worker))),
		('worker_id_seq', coalesce(pg_sequence_last_value({s.worker_id_seq}), 0),
			greatest((SELECT max(id) FROM {s}.worker), (SELECT max(holder) FROM {s}.entry), (SELECT max(worker) FROM {s}.permit))::int8)) v (name, last, rows)
	WHERE rows > last`

// preparer prepares the database for the backend.
type preparer struct{ *session }

// prepare creates or upgrades the tables, and checks that the statements of the backend will run.
func (p preparer) prepare(ctx context.Context) error {
	for _, f := range []func(context.Context, pgx.Tx) error{p.migrate, p.checkRole, p.checkSequences} {
		err := p.insist(ctx, func(ctx context.Context) error {
			return pgx.BeginTxFunc(ctx, p.pool, p.unhurried(), func(tx pgx.Tx) error { return f(ctx, tx) })
		})
		if err != nil {
			return fmt.Errorf("postgres: schema %q: %w", p.options.Schema, err)
		}
	}
	return nil
}

// unhurried returns the options of a transaction that may build an index. The timeouts of the role do
// not end the transaction.
func (s *session) unhurried() pgx.TxOptions {
	return pgx.TxOptions{BeginQuery: fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0; "+
		"SET LOCAL idle_in_transaction_session_timeout = %d", s.options.Timeout.Milliseconds())}
}

// leastRelease is the first release of PostgreSQL that runs all statements, as server_version_num.
const leastRelease = 14_00_00

// migrate brings the tables to this package's version. The lock keeps other processes
// out until the transaction ends.
func (p preparer) migrate(ctx context.Context, tx pgx.Tx) error {
	var number int
	var release string
	// search_path has the effect of qualified. With row_security off, a read of hidden rows fails.
	err := tx.QueryRow(ctx, `SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
		pg_catalog.set_config('row_security', 'off', true),
		pg_catalog.current_setting('server_version_num')::int, pg_catalog.current_setting('server_version')`).
		Scan(nil, nil, &number, &release)
	if err == nil && number < leastRelease {
		err = fmt.Errorf("%w: PostgreSQL %s (expected: %d or later)", backend.ErrInvalid, release, leastRelease/10_000)
	}
	if err != nil {
		return err
	}
	version, err := p.version(ctx, tx)
	if err != nil || version >= schemaVersion {
		return err
	}
	if p.options.MustExist {
		return fmt.Errorf("%w: tables of version %d (expected: %d)", backend.ErrNoStore, version, schemaVersion)
	}
	var readOnly, exists bool
	err = tx.QueryRow(ctx, `SELECT current_setting('default_transaction_read_only')::bool,
		EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, p.options.Schema).Scan(&readOnly, &exists)
	if err == nil && readOnly {
		err = fmt.Errorf("%w: default_transaction_read_only is on (expected: off, to create the tables)", backend.ErrInvalid)
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('hwt:' || $1, 0))`, p.options.Schema); err != nil {
		return err
	}
	if version, err = p.version(ctx, tx); err != nil { // another process was faster
		return err
	}
	for v := version; v < schemaVersion; v++ {
		sql := migrations[v]
		if !exists { // otherwise the role need not be allowed to create schemas
			sql = "CREATE SCHEMA IF NOT EXISTS {s};" + sql
		}
		_, err := tx.Exec(ctx, filled(p.options.Schema, false)(sql), pgx.QueryExecModeSimpleProtocol)
		if sqlState(err) == "42501" {
			return fmt.Errorf("the role lacks CREATE on the database, CREATE on the schema, or the ownership of its tables: %w", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// version returns the version of the tables, or 0 without tables.
func (p preparer) version(ctx context.Context, tx pgx.Tx) (version int, err error) {
	var exists bool
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = 'meta')`, p.options.Schema).Scan(&exists)
	if err != nil || !exists {
		return 0, err
	}
	var reader int
	err = tx.QueryRow(ctx, p.text("SELECT version, reader FROM {s}.meta")).Scan(&version, &reader)
	switch {
	case sqlState(err) == "42501":
		return 0, fmt.Errorf("the role lacks USAGE on the schema, or SELECT on its table meta: %w", err)
	case sqlState(err) == "42703":
		return 0, fmt.Errorf("%w: the table meta of the schema is of another program: %w", backend.ErrInvalid, err)
	case errors.Is(err, pgx.ErrNoRows):
		return 0, fmt.Errorf("%w: the table meta is empty", backend.ErrDamaged)
	case err == nil && reader > schemaVersion:
		return 0, fmt.Errorf("%w: tables of version %d need version %d of this package or later (this is %d)",
			backend.ErrInvalid, version, reader, schemaVersion)
	}
	return version, err
}

// checkRole returns an error that names what the role lacks.
func (p preparer) checkRole(ctx context.Context, tx pgx.Tx) error {
	q := pgxQuerier{tx, p.text}
	var lacks, hidden []string
	err := q.run(ctx, query(each(&lacks), missingSQL, p.options.Schema), query(each(&hidden), hiddenSQL))
	switch {
	case err != nil:
		return err
	case len(lacks) > 0:
		return fmt.Errorf("%w %s", errLacks, strings.Join(lacks, ", "))
	case len(hidden) > 0:
		return hiddenError(hidden)
	}
	return q.run(ctx, p.explained()...)
}

// hiddenError returns the error for tables with rows that may be hidden, or nil without any.
func hiddenError(tables []string) error {
	if len(tables) == 0 {
		return nil
	}
	return fmt.Errorf("%w access to rows that row-level security may hide, in the tables %s: "+
		"run ALTER TABLE ... DISABLE ROW LEVEL SECURITY, or ALTER ROLE ... BYPASSRLS", errLacks, strings.Join(tables, ", "))
}

// parameter matches a parameter of a statement.
var parameter = regexp.MustCompile(`\$(\d+)`)

// explained returns statements that plan all statements of the backend, without running them.
// PostgreSQL checks that tables, columns, and functions exist, and the privileges for them.
func (preparer) explained() (stmts []stmt) {
	plain := filled("hwt", false) // another schema's name may have a parameter's form
	for _, sql := range statements {
		n := 0
		for _, p := range parameter.FindAllStringSubmatch(plain(sql), -1) {
			i, _ := strconv.Atoi(p[1]) // only digits match
			n = max(n, i)
		}
		stmts = append(stmts, execute("EXPLAIN "+sql, make([]any, n)...))
	}
	return stmts
}

// sequence is a sequence that is behind the largest value of its rows.
type sequence struct {
	name string
	rows int64
}

// behindOf returns a function that reads the result of behindSQL.
func behindOf(all *[]sequence) func(scanner) error {
	return func(scan scanner) error {
		var s sequence
		err := scan(&s.name, &s.rows)
		*all = append(*all, s)
		return err
	}
}

// checkSequences moves sequences that are behind their rows, or returns an error. Generations would
// start again below the generations that handlers know, dead letters would collide, and workers would
// not notice that a limit changes: its version is a generation.
func (p preparer) checkSequences(ctx context.Context, tx pgx.Tx) error {
	q := pgxQuerier{tx, p.text}
	var copied, allowed bool
	err := q.run(ctx, query(into(&copied, &allowed), copiedSQL))
	if err != nil || !copied {
		return err
	}
	var behind []sequence
	if err := q.run(ctx, query(behindOf(&behind), behindSQL)); err != nil {
		return err
	}
	if !allowed && len(behind) == 0 {
		return nil // another role corrects witness
	}
	stmts := []stmt{query(nil, `SELECT setval({s.witness}, witness) FROM {s}.meta`)}
	for _, s := range behind {
		if !allowed {
			return fmt.Errorf("%w: the sequence %s is behind the value %d of its rows, as after a copy without the values of sequences; "+
				"Open moves it if the role has UPDATE on the sequences of the schema, in a transaction that may write",
				backend.ErrDamaged, s.name, s.rows)
		}
		p.options.Logger.Error("durable: moving a sequence that is behind its rows, as after a copy without the values of sequences",
			"schema", p.options.Schema, "sequence", s.name, "rows", s.rows)
		stmts = append(stmts, query(nil, `SELECT setval({s.`+s.name+`}, $1)`, s.rows+recent)) // others may take values at the same time
	}
	return q.run(ctx, stmts...)
}
