package postgres_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// Logical replication copies rows, and no values of sequences. Generations would start again.
func TestOpenMovesSequencesBehindTheirRows(t *testing.T) {
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "copied")})
	far := time.Now().Add(time.Hour)
	for range 20 {
		apply(t, b, set("k", far))
	}
	w := register(t, b)
	before, err := b.Get(t.Context(), "k")
	require.NoError(t, err)
	administer(t, "postgres", `ALTER SEQUENCE copied.generation RESTART; ALTER SEQUENCE copied.witness RESTART;
		ALTER SEQUENCE copied.worker_id_seq RESTART`)

	administer(t, "postgres", `DROP ROLE IF EXISTS copied; CREATE ROLE copied LOGIN; GRANT USAGE ON SCHEMA copied TO copied;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA copied TO copied; GRANT USAGE ON ALL SEQUENCES IN SCHEMA copied TO copied`)
	t.Cleanup(func() { administer(t, "postgres", `DROP OWNED BY copied; DROP ROLE copied`) })
	_, err = postgres.NewBackend(short(t), asRole(t, "copied", "", "postgres", ""), &postgres.Options{Schema: "copied"})
	require.ErrorIs(t, err, backend.ErrDamaged)
	require.ErrorContains(t, err, fmt.Sprintf("the sequence generation is behind the value %d of its rows", before.Generation))

	log := &lines{}
	b = open(t, pool, postgres.Options{Schema: "copied", Options: durable.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}})
	require.Greater(t, apply(t, b, set("k", far))[0].Row.Generation, before.Generation)
	require.Greater(t, register(t, b), w)
	require.Equal(t, 2, log.count("moving a sequence"), log)
	open(t, pool, postgres.Options{Schema: "copied", Options: durable.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}})
	require.Equal(t, 2, log.count("moving a sequence"), log)
}

// Limits have versions of the same sequence. They may be the only rows: all entries have fired.
func TestOpenMovesSequencesBehindLimits(t *testing.T) {
	pool := newPool(t, "")
	mail, sms := backend.Limit{Scope: backend.Scope{Prefix: "mail/"}, Running: 5}, backend.Limit{Scope: backend.Scope{Prefix: "sms/"}, Running: 5}
	for name, change := range map[string]string{
		"limits":  "UPDATE bounded.worker SET limits = 0",
		"workers": "UPDATE bounded.limits SET version = 1",
		"permits": "DELETE FROM bounded.worker; INSERT INTO bounded.permit VALUES ('mail/', '', 99, 3, 3)",
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, pool, postgres.Options{Schema: fresh(t, "bounded")})
			for range 30 {
				apply(t, b, set("k", time.Now().Add(time.Hour)))
			}
			apply(t, b, backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: "k"}})
			require.NoError(t, b.SetLimit(t.Context(), mail))
			require.NoError(t, b.SetLimit(t.Context(), sms))
			known, err := b.Limited(t.Context(), backend.Version{})
			require.NoError(t, err)
			worker := register(t, b)
			administer(t, "postgres", change+`; ALTER SEQUENCE bounded.generation RESTART; ALTER SEQUENCE bounded.witness RESTART;
				ALTER SEQUENCE bounded.worker_id_seq RESTART`)

			b = open(t, pool, postgres.Options{Schema: "bounded"})
			if name == "permits" {
				worker = register(t, b)
				require.Greater(t, worker, int64(99))
			}
			_, err = b.Share(t.Context(), worker, known.Version.Newest, nil)
			require.NoError(t, err)
			require.NoError(t, b.SetLimit(t.Context(), mail))
			now, err := b.Limited(t.Context(), backend.Version{})
			require.NoError(t, err)
			require.Greater(t, now.Version.Newest, known.Version.Newest)
			require.Equal(t, 1, now.Unaware)
		})
	}
}

// Before Open has moved the sequence, an entry may get the key and the generation of a dead letter.
func TestLetterWithATakenGenerationIsBuried(t *testing.T) {
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "taken")})
	letters := func() (all []backend.Dead) {
		all, err := b.DeadPage(t.Context(), "", backend.Ref{}, 9)
		require.NoError(t, err)
		return all
	}
	for range 2 {
		administer(t, "postgres", `ALTER SEQUENCE taken.generation RESTART`)
		apply(t, b, set("k", time.Now()))
		worker := register(t, b)
		rows := lease(t, b, worker, time.Now())
		require.Len(t, rows, 1)
		applied, err := b.Finish(t.Context(), worker, []backend.Outcome{{Ref: rows[0].Ref(), Fate: backend.Bury, Error: "no"}})
		require.NoError(t, err)
		require.Equal(t, []bool{true}, applied)
	}
	require.Len(t, letters(), 2)
	_, err := b.Get(t.Context(), "k")
	require.ErrorIs(t, err, backend.ErrNotFound)
}

func TestVerifyNamesASequenceBehindItsRows(t *testing.T) {
	pool := newPool(t, "")
	s, err := postgres.Open(t.Context(), pool, &postgres.Options{Schema: fresh(t, "verified")})
	require.NoError(t, err)
	defer s.Close()
	for range 3 {
		_, err := s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
		require.NoError(t, err)
	}
	require.NoError(t, s.Verify(t.Context()))
	administer(t, "postgres", `ALTER SEQUENCE verified.generation RESTART`)
	err = s.Verify(t.Context())
	require.ErrorIs(t, err, durable.ErrDamaged)
	require.ErrorContains(t, err, "the sequence generation is behind the value 3 of its rows")
}

func TestHiddenRowsAreAnError(t *testing.T) {
	pool := newPool(t, "")
	far := time.Now().Add(time.Hour)
	apply(t, open(t, pool, postgres.Options{Schema: fresh(t, "hidden")}), set("k", far))
	administer(t, "postgres", `DROP ROLE IF EXISTS hidden; CREATE ROLE hidden LOGIN; GRANT USAGE ON SCHEMA hidden TO hidden;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA hidden TO hidden; GRANT USAGE ON ALL SEQUENCES IN SCHEMA hidden TO hidden`)
	t.Cleanup(func() { administer(t, "postgres", `DROP OWNED BY hidden; DROP ROLE hidden`) })
	role := asRole(t, "hidden", "", "postgres", "")
	b := open(t, role, postgres.Options{Schema: "hidden"})
	administer(t, "postgres", `ALTER TABLE hidden.entry ENABLE ROW LEVEL SECURITY`)
	_, err := postgres.NewBackend(t.Context(), role, &postgres.Options{Schema: "hidden"})
	require.ErrorContains(t, err, "row-level security may hide, in the tables entry")
	administer(t, "postgres", `ALTER TABLE hidden.meta ENABLE ROW LEVEL SECURITY`)
	_, err = postgres.NewBackend(t.Context(), role, &postgres.Options{Schema: "hidden"})
	require.ErrorContains(t, err, `row-level security policy for table "meta"`)
	administer(t, "postgres", `ALTER TABLE hidden.meta DISABLE ROW LEVEL SECURITY`)
	cancel := backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: "k"}}
	tx, err := role.Begin(t.Context())
	require.NoError(t, err)
	_, inTx := b.View(tx).Apply(t.Context(), []backend.Op{cancel})
	require.NoError(t, tx.Rollback(t.Context()))
	_, get := b.Get(t.Context(), "k")
	_, page := b.Page(t.Context(), "", backend.Cursor{}, 9, false)
	_, stats := b.Stats(t.Context(), nil)
	for name, err := range map[string]error{"Tx": inTx, "Get": get, "Page": page, "Stats": stats, "Cancel": apply(t, b, cancel)[0].Err} {
		require.ErrorContains(t, err, "row-level security", name)
	}
}

// A publication FOR ALL TABLES forbids changes of tables without a primary key.
func TestEveryTableHasAPrimaryKey(t *testing.T) {
	pool := newPool(t, "")
	open(t, pool, postgres.Options{Schema: fresh(t, "keys")})
	var tables, keys int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*), count(i) FROM pg_class c LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
		WHERE c.relnamespace = 'keys'::regnamespace AND c.relkind = 'r'`).Scan(&tables, &keys))
	require.Equal(t, 7, tables)
	require.Equal(t, tables, keys)
}

// Revoked privileges that the tables do not show: Open plans every statement.
func TestOpenNamesAForbiddenFunction(t *testing.T) {
	administer(t, "postgres", `DROP DATABASE IF EXISTS forbidding`)
	administer(t, "postgres", `DROP ROLE IF EXISTS forbidden; CREATE ROLE forbidden LOGIN`)
	administer(t, "postgres", `CREATE DATABASE forbidding OWNER forbidden`)
	administer(t, "forbidding", `REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC`)
	_, err := postgres.NewBackend(short(t), asRole(t, "forbidden", "", "forbidding", ""), nil)
	require.ErrorContains(t, err, "permission denied for function pg_notify")
}

func TestOpenPlansEveryStatement(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "sql.go", nil, 0)
	require.NoError(t, err)
	n := 0
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		for _, spec := range d.Specs {
			if strings.HasSuffix(spec.(*ast.ValueSpec).Names[0].Name, "SQL") {
				n++
			}
		}
	}
	require.Equal(t, n+1, postgres.StatementCount) // identify is elsewhere
}
