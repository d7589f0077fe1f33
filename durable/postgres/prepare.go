package postgres

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hashedwheel/hwt/durable/backend"
)

// missingSQL names the privileges that the role lacks beside USAGE on the schema.
const missingSQL = `SELECT need || ' on the ' || kind || ' ' || name
	FROM (VALUES ('sequence', 'witness', 'USAGE'), ('sequence', 'worker_id_seq', 'USAGE'), ('sequence', 'generation', 'USAGE'),
		('sequence', 'removal', 'USAGE'), ('table', 'meta', 'SELECT'),
		('table', 'entry', 'SELECT INSERT UPDATE DELETE'), ('table', 'dead', 'SELECT INSERT UPDATE DELETE'),
		('table', 'worker', 'SELECT INSERT UPDATE DELETE')) p (kind, name, needs), string_to_table(needs, ' ') need
	WHERE NOT CASE WHEN kind = 'table' THEN has_table_privilege(format('%I.%I', $1::text, name), need)
		ELSE has_sequence_privilege(format('%I.%I', $1::text, name), need) END`

// hiddenSQL names the tables whose rows row-level security may hide from the role.
const hiddenSQL = `SELECT c.relname FROM pg_class c
	WHERE c.oid = ANY(ARRAY[{s.meta}, {s.entry}, {s.dead}, {s.worker}]::oid[]) AND row_security_active(c.oid) ORDER BY c.relname`

// copiedSQL is whether the rows were copied without the values of the sequences, as logical
// replication does, or workers would get the IDs of others; and whether the role may correct that.
const copiedSQL = `SELECT witness <> coalesce(pg_sequence_last_value({s.witness}), 0)
	OR coalesce(pg_sequence_last_value({s.worker_id_seq}), 0) < greatest((SELECT max(id) FROM {s}.worker),
		(SELECT max(holder) FROM {s}.entry WHERE holder <> 0), 0),
	has_sequence_privilege({s.witness}, 'UPDATE') AND has_sequence_privilege({s.generation}, 'UPDATE')
		AND has_sequence_privilege({s.worker_id_seq}, 'UPDATE') AND current_setting('transaction_read_only') = 'off'
	FROM {s}.meta`

// behindSQL are the sequences that are behind their rows, with the largest value of these.
const behindSQL = `SELECT name, rows FROM (VALUES
		('generation', coalesce(pg_sequence_last_value({s.generation}), 0),
			greatest((SELECT max(generation) FROM {s}.entry), (SELECT max(generation) FROM {s}.dead))),
		('worker_id_seq', coalesce(pg_sequence_last_value({s.worker_id_seq}), 0),
			greatest((SELECT max(id) FROM {s}.worker), (SELECT max(holder) FROM {s}.entry))::int8)) v (name, last, rows)
	WHERE rows > last`

// prepare creates or upgrades the tables, and checks that the statements of the backend will run.
func (b *postgresBackend) prepare(ctx context.Context) error {
	for _, f := range []func(context.Context, pgx.Tx) error{b.migrate, b.checkRole, b.checkSequences} {
		err := b.insist(ctx, func(ctx context.Context) error {
			return pgx.BeginTxFunc(ctx, b.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error { return f(ctx, tx) })
		})
		if err != nil {
			return fmt.Errorf("postgres: schema %q: %w", b.options.Schema, err)
		}
	}
	return nil
}

// checkRole returns an error that names what the role lacks.
func (b *postgresBackend) checkRole(ctx context.Context, tx pgx.Tx) error {
	q := pgxQuerier{tx, b.text}
	var lacks, hidden []string
	err := q.run(ctx, query(each(&lacks), missingSQL, b.options.Schema), query(each(&hidden), hiddenSQL))
	switch {
	case err != nil:
		return err
	case len(lacks) > 0:
		return fmt.Errorf("%w %s", errLacks, strings.Join(lacks, ", "))
	case len(hidden) > 0:
		return hiddenError(hidden)
	}
	return q.run(ctx, b.explained()...)
}

// hiddenError returns the error for tables whose rows may be hidden, or nil without any.
func hiddenError(tables []string) error {
	if len(tables) == 0 {
		return nil
	}
	return fmt.Errorf("%w access to rows that row-level security may hide, in the tables %s: "+
		"run ALTER TABLE ... DISABLE ROW LEVEL SECURITY, or ALTER ROLE ... BYPASSRLS", errLacks, strings.Join(tables, ", "))
}

// parameter matches a parameter of a statement.
var parameter = regexp.MustCompile(`\$(\d+)`)

// explained returns statements that plan all of the backend's, without running them. PostgreSQL
// checks the privileges for tables, columns, and functions, and that these exist.
func (b *postgresBackend) explained() (stmts []stmt) {
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

// checkSequences moves sequences that are behind their rows, or returns an error. Generations would
// start again below those that handlers know, and dead letters would collide.
func (b *postgresBackend) checkSequences(ctx context.Context, tx pgx.Tx) error {
	q := pgxQuerier{tx, b.text}
	var copied, allowed bool
	err := q.run(ctx, query(into(&copied, &allowed), copiedSQL))
	if err != nil || !copied {
		return err
	}
	type sequence struct {
		name string
		rows int64
	}
	var behind []sequence
	err = q.run(ctx, query(nil, `SELECT set_config('statement_timeout', '0', true)`), // it reads all rows
		query(func(scan scanner) error {
			var s sequence
			err := scan(&s.name, &s.rows)
			behind = append(behind, s)
			return err
		}, behindSQL))
	if err != nil {
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
		b.options.Logger.Warn("durable: moving a sequence that is behind its rows, as after a copy without the values of sequences",
			"schema", b.options.Schema, "sequence", s.name, "rows", s.rows)
		stmts = append(stmts, query(nil, `SELECT setval({s.`+s.name+`}, $1)`, s.rows+recent)) // others may take values meanwhile
	}
	return q.run(ctx, stmts...)
}
