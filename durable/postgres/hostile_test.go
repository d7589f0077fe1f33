package postgres_test

import (
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/backend/backendtest"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// hostileSQL creates a schema with the name of every function, operator, type, and relation of
// PostgreSQL. Its functions and operators fail, and its relations are empty. Some functions have
// arguments that no user's function may have: others take text, which fits a literal better.
const hostileSQL = `DROP SCHEMA IF EXISTS hostile CASCADE; CREATE SCHEMA hostile;
DO $do$
DECLARE r record; s text; body text := ' LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION ''hostile code runs as %'', current_user; END $$';
BEGIN
	FOR r IN SELECT format('%I(%s) RETURNS %s %s', proname,
			(SELECT string_agg(format_type(a, NULL), ', ' ORDER BY n) FROM unnest(proargtypes) WITH ORDINALITY u (a, n)),
			CASE WHEN proretset THEN 'SETOF' END, format_type(prorettype, NULL)) AS f, proname
			FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
	LOOP
		FOREACH s IN ARRAY ARRAY[r.f, format('%I(text) RETURNS text', r.proname), format('%I(text, text) RETURNS text', r.proname)] LOOP
			BEGIN EXECUTE 'CREATE FUNCTION hostile.' || s || body;
			EXCEPTION WHEN others THEN END;
		END LOOP;
	END LOOP;
	FOR r IN SELECT oid, oprname, format_type(oprleft, NULL) AS l, format_type(oprright, NULL) AS r, format_type(oprresult, NULL) AS result
			FROM pg_operator WHERE oprleft <> 0
	LOOP
		BEGIN
			EXECUTE format('CREATE FUNCTION hostile.operator%s(%s, %s) RETURNS %s %s', r.oid, r.l, r.r, r.result, body);
			EXECUTE format('CREATE OPERATOR hostile.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = hostile.operator%s)', r.oprname, r.l, r.r, r.oid);
		EXCEPTION WHEN others THEN END;
	END LOOP;
	FOR r IN SELECT relname FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v') LOOP
		EXECUTE format('CREATE TABLE hostile.%I ()', r.relname);
	END LOOP;
	FOR r IN SELECT typname FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype = 'b' AND typelem = 0 LOOP
		EXECUTE format('CREATE DOMAIN hostile.%I AS pg_catalog.text CHECK (false)', r.typname);
	END LOOP;
END $do$`

var hostileOnce sync.Once

// hostilePool returns a pool whose sessions find the names of others before those of PostgreSQL.
func hostilePool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	admin := newPool(t, "")
	hostileOnce.Do(func() {
		_, err := admin.Exec(t.Context(), hostileSQL, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
	})
	pool := poolWith(t, "search_path", "hostile, pg_catalog")
	for _, sql := range []string{
		`SELECT now()`, `SELECT nextval('a')`, `SELECT count(*)`, `SELECT 1 = 2`, `SELECT ''::bytea < ''::bytea`,
		`SELECT 1::int8`, `SELECT relname FROM pg_class`,
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.Error(t, err, sql)
	}
	return pool
}

func TestNamesOfOthersAreNotUsed(t *testing.T) {
	hostile := hostilePool(t)
	pool := newPool(t, "")
	backendtest.Run(t, func(t testing.TB) backend.Backend {
		schema := fmt.Sprint("hostile", schemas.Add(1))
		return damager{open(t, hostile, postgres.Options{Schema: fresh(t, schema), MaxBytes: 1 << 40}), pool, schema}
	})
}

func TestNamesOfOthersAreNotUsedInTx(t *testing.T) {
	ctx := t.Context()
	hostile := hostilePool(t)
	b := open(t, hostile, postgres.Options{})
	db := stdlib.OpenDBFromPool(hostile)
	defer db.Close()
	const path = `SHOW search_path`
	for name, run := range map[string]func(t *testing.T, f func(tx backend.Tx)) (after string, err error){
		"pgx.Tx": func(t *testing.T, f func(tx backend.Tx)) (after string, err error) {
			return after, pgx.BeginFunc(ctx, hostile, func(tx pgx.Tx) error {
				f(b.View(tx))
				return tx.QueryRow(ctx, path).Scan(&after)
			})
		},
		"sql.Tx": func(t *testing.T, f func(tx backend.Tx)) (after string, err error) {
			tx, err := db.BeginTx(ctx, &sql.TxOptions{})
			require.NoError(t, err)
			defer tx.Rollback() // no effect after Commit
			f(b.SQLView(tx))
			require.NoError(t, tx.QueryRow(path).Scan(&after))
			return after, tx.Commit()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, letters := claimed(t, b, 1)
			far := time.Now().Add(time.Hour)
			_, err := b.Finish(ctx, w, []backend.Outcome{{Ref: letters[0].Ref(), Fate: backend.Bury}})
			require.NoError(t, err)
			w, rows := claimed(t, b, 1)
			after, err := run(t, func(tx backend.Tx) {
				row := backend.Row{Key: name, Due: far.UnixNano()}
				for _, op := range []backend.Op{
					set(name, far), {Kind: backend.Move, Row: row}, {Kind: backend.Cancel, Row: row}, {Kind: backend.Create, Row: row},
					{Kind: backend.Requeue, Row: backend.Row{Key: rows[0].Key, Due: far.UnixNano()}, If: letters[0].Generation},
				} {
					results, err := tx.Apply(ctx, []backend.Op{op})
					require.NoError(t, err)
					require.NoError(t, results[0].Err, "%+v", op)
				}
				done, err := tx.Finish(ctx, w, []backend.Outcome{{Ref: rows[0].Ref()}})
				require.NoError(t, err)
				require.Equal(t, []bool{true}, done)
			})
			require.NoError(t, err)
			require.Equal(t, "hostile, pg_catalog", after)
		})
	}
}
