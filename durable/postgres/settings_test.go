package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// exercise uses a store as services do: calls, a transaction, firings, a series, and a dead letter. Keys
// and payloads have bytes that text formats escape.
func exercise(t *testing.T, s *postgres.Store, pool *pgxpool.Pool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const odd = "k\x00\xff\\'é"
	fired := make(chan durable.Firing, 100)
	working, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		assert.NoError(t, s.Work(working, func(_ context.Context, f durable.Firing) error {
			if fired <- f; f.Key == "dead" {
				return durable.GiveUp(errors.New(odd))
			}
			return nil
		}, nil))
	})
	defer work.Wait()
	defer stop()
	near := time.Now().Add(200 * time.Millisecond)
	_, err := s.Set(ctx, durable.Entry{Key: odd, Due: near, Payload: []byte(odd), Group: odd, Headers: map[string]string{odd: odd}})
	require.NoError(t, err)
	_, err = s.Set(ctx, durable.Entry{Key: "dead", Due: near})
	require.NoError(t, err)
	_, _, err = s.Ensure(ctx, durable.Entry{Key: "series", Every: durable.Every{Spec: "@every 1s"}})
	require.NoError(t, err)
	patient := pgx.TxOptions{BeginQuery: "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0"}
	require.NoError(t, pgx.BeginTxFunc(ctx, pool, patient, func(tx pgx.Tx) error {
		_, err := s.Tx(tx).Set(ctx, durable.Entry{Key: "tx", Due: near})
		return err
	}))
	n, err := s.SetMany(ctx, func(yield func(durable.Entry) bool) {
		for i := 0; i < 600 && yield(durable.Entry{Key: fmt.Sprint("many/", i), Due: near.Add(time.Hour)}); i++ {
		}
	})
	require.NoError(t, err)
	require.Equal(t, 600, n)
	n, err = s.CancelMany(ctx, durable.Scope{Prefix: "many/"})
	require.NoError(t, err)
	require.Equal(t, 600, n)
	for missing := map[string]int{odd: 1, "dead": 1, "series": 2, "tx": 1}; len(missing) > 0; {
		select {
		case f := <-fired:
			if missing[f.Key]--; missing[f.Key] <= 0 {
				delete(missing, f.Key)
			}
			if f.Key == odd {
				require.Equal(t, odd, string(f.Payload))
				require.Equal(t, odd, f.Group)
				require.Equal(t, map[string]string{odd: odd}, f.Headers)
			}
		case <-ctx.Done():
			stats, _ := s.Stats(t.Context()) // for the message
			require.Fail(t, "entries do not fire", "%v: %s", missing, stats.LastError)
		}
	}
	require.Eventually(t, func() bool {
		n, err := s.DiscardMany(ctx, durable.Letters{Error: "'é"})
		assert.NoError(t, err)
		return n == 1
	}, 10*time.Second, 10*time.Millisecond)
}

// Roles, databases, and drivers give sessions settings of their own. Each role opens its own store.
func TestSettingsOfTheRoleDoNotMatter(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	for i, setting := range []string{
		"statement_timeout = 1000", "lock_timeout = 1", "idle_in_transaction_session_timeout = 1", "exit_on_error = on",
		"default_transaction_isolation = serializable", "default_transaction_deferrable = on", "transform_null_equals = on", "array_nulls = off",
		"DateStyle = 'SQL, DMY'", "IntervalStyle = sql_standard", "TimeZone = 'Asia/Kathmandu'", "extra_float_digits = -15", "client_encoding = SJIS",
		"standard_conforming_strings = off", "quote_all_identifiers = on", "search_path = ''", "session_replication_role = replica", "client_min_messages = debug5",
		"plan_cache_mode = force_generic_plan", "enable_indexscan = off", "enable_nestloop = off", "join_collapse_limit = 1",
		"work_mem = 64", "temp_file_limit = 0", "default_tablespace = nowhere", "jit_above_cost = 0",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			role := fmt.Sprint("role", i)
			administer(t, "postgres", fmt.Sprintf("DROP ROLE IF EXISTS %s; CREATE ROLE %[1]s LOGIN SUPERUSER; ALTER ROLE %[1]s SET %s", role, setting))
			pool := asRole(t, role, "", "postgres", "")
			s, err := postgres.Open(short(t), pool, &postgres.Options{Schema: fresh(t, role)})
			require.NoError(t, err)
			defer s.Close()
			exercise(t, s, pool)
		})
	}
}

// The modes of pgx, with the setting of sessions that changes the texts of a mode.
func TestModesOfTheDriverDoNotMatter(t *testing.T) {
	for i, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			newPool(t, "")
			schema := fmt.Sprint(`{s} "é'\$1;--`, i)
			administer(t, "postgres", `DROP SCHEMA IF EXISTS "`+strings.ReplaceAll(schema, `"`, `""`)+`" CASCADE`)
			pool := asRole(t, "postgres", "", "postgres", "&default_query_exec_mode="+mode)
			s, err := postgres.Open(short(t), pool, &postgres.Options{Schema: schema})
			require.NoError(t, err)
			defer s.Close()
			exercise(t, s, pool)
		})
	}
}

// The texts of a store are bytes to the database, which may have no letters for them.
func TestEncodingOfTheDatabaseDoesNotMatter(t *testing.T) {
	if testing.Short() {
		t.Skip("creates four databases")
	}
	for _, encoding := range []string{"SQL_ASCII", "LATIN1", "EUC_JP", "WIN1251"} {
		t.Run(encoding, func(t *testing.T) {
			database := "in_" + strings.ToLower(encoding)
			administer(t, "postgres", "DROP DATABASE IF EXISTS "+database)
			administer(t, "postgres", fmt.Sprintf("CREATE DATABASE %s TEMPLATE template0 ENCODING '%s' LC_COLLATE 'C' LC_CTYPE 'C'", database, encoding))
			pool := asRole(t, "postgres", "", database, "")
			s, err := postgres.Open(short(t), pool, &postgres.Options{Options: durable.Options{Paused: "é日本"}})
			require.NoError(t, err)
			defer s.Close()
			pauses, err := s.Paused(t.Context())
			require.NoError(t, err)
			require.Equal(t, "é日本", pauses[0].Reason)
			require.NoError(t, s.Resume(t.Context(), durable.Scope{All: true}))
			exercise(t, s, pool)
		})
	}
}

// Statements have placeholders for the schema, and quote it as a name and as a literal.
func TestSchemaMayHaveAnyName(t *testing.T) {
	administer(t, "postgres", "DROP DATABASE IF EXISTS names")
	administer(t, "postgres", "CREATE DATABASE names")
	pool := asRole(t, "postgres", "", "names", "")
	for _, schema := range []string{`My "Schema's"`, "日本", "a.b", "select", "{s}", "{cols}", "{s.entry}", "hwt:x", "public", " ", "UPPER", "$1", "%s", "a;b--", `e\'x`} {
		t.Run(schema, func(t *testing.T) {
			b := open(t, pool, postgres.Options{Schema: schema})
			w, rows := claimed(t, b, 2)
			done, err := b.Finish(t.Context(), w, []backend.Outcome{{Ref: rows[0].Ref()}, {Ref: rows[1].Ref(), Fate: backend.Bury}})
			require.NoError(t, err)
			require.Equal(t, []bool{true, true}, done)
			require.NoError(t, b.PrepareKinds(t.Context()))
			st, err := b.Stats(t.Context(), []int64{1})
			require.NoError(t, err)
			require.EqualValues(t, 1, st.Dead)
		})
	}
}
