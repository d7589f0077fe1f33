package postgres_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

func TestOpsInCallersTransactionFollowItsFate(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	db, err := sql.Open("pgx", server.URL("postgres"))
	require.NoError(t, err)
	defer db.Close()
	strict := poolWith(t, "default_transaction_isolation", "serializable")
	for name, begin := range map[string]func() (tx backend.Tx, commit, rollback func() error){
		"pgx.Tx, serializable by default": func() (backend.Tx, func() error, func() error) {
			tx, err := strict.Begin(ctx)
			require.NoError(t, err)
			return b.View(tx), func() error { return tx.Commit(ctx) }, func() error { return tx.Rollback(ctx) }
		},
		"pgx.Tx": func() (backend.Tx, func() error, func() error) {
			tx, err := pool.Begin(ctx)
			require.NoError(t, err)
			return b.View(tx), func() error { return tx.Commit(ctx) }, func() error { return tx.Rollback(ctx) }
		},
		"sql.Tx": func() (backend.Tx, func() error, func() error) {
			tx, err := db.Begin()
			require.NoError(t, err)
			return b.SQLView(tx), tx.Commit, tx.Rollback
		},
	} {
		t.Run(name, func(t *testing.T) {
			far := time.Now().Add(time.Hour)
			apply(t, b, set(name+"moved", far), set(name+"cancelled", far))
			ops := []backend.Op{
				{Kind: backend.Create, Row: backend.Row{Key: name + "\x00new", Due: far.UnixNano(), Payload: []byte("\x00\"\\")}},
				{Kind: backend.Move, Row: backend.Row{Key: name + "moved", Due: far.UnixNano() + 5}},
				{Kind: backend.Cancel, Row: backend.Row{Key: name + "cancelled"}},
				{Kind: backend.Cancel, Row: backend.Row{Key: name + "missing"}},
			}
			tx, _, rollback := begin()
			results, err := tx.Apply(ctx, ops)
			require.NoError(t, err)
			require.ErrorIs(t, results[3].Err, backend.ErrNotFound)
			require.NoError(t, rollback())
			_, err = b.Get(ctx, name+"\x00new")
			require.ErrorIs(t, err, backend.ErrNotFound)
			tx, commit, _ := begin()
			results, err = tx.Apply(ctx, ops)
			require.NoError(t, err)
			require.NoError(t, commit())
			row, err := b.Get(ctx, name+"\x00new")
			require.NoError(t, err)
			require.Equal(t, results[0].Row, row)
			row, err = b.Get(ctx, name+"moved")
			require.NoError(t, err)
			require.Equal(t, far.UnixNano()+5, row.Due)
			_, err = b.Get(ctx, name+"cancelled")
			require.ErrorIs(t, err, backend.ErrNotFound)
		})
	}
}

func TestSerializableTransactionGetsItsConflict(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	apply(t, b, set("a", time.Now().Add(time.Hour)))
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(ctx))
	_, err = tx.Exec(ctx, "SELECT 1 FROM pg_class")
	require.NoError(t, err)
	apply(t, b, set("a", time.Now().Add(time.Hour)))
	_, err = b.View(tx).Apply(ctx, []backend.Op{{Kind: backend.Cancel, Row: backend.Row{Key: "a"}}})
	require.ErrorContains(t, err, "SQLSTATE 40001")
}

// A worker holds the detached row of a key that was set again. Done locks the main row first, as a
// Cancel does, since the transaction may set the key next.
func TestDoneThenSetMeetsNoDeadlock(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{})
	worker, rows := claimed(t, b, 1)
	key, far := rows[0].Key, time.Now().Add(time.Hour)
	apply(t, b, set(key, far))
	first, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer first.Rollback(context.WithoutCancel(ctx))
	second, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer second.Rollback(context.WithoutCancel(ctx))
	applied, err := b.View(first).Finish(ctx, worker, []backend.Outcome{{Ref: rows[0].Ref(), Fate: backend.Done}})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, applied)
	cancelled := make(chan error, 1)
	go func() {
		_, err := b.View(second).Apply(ctx, []backend.Op{{Kind: backend.Cancel, Row: backend.Row{Key: key}}})
		cancelled <- err
	}()
	require.Eventually(t, func() (waits bool) {
		err := pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)`, second.Conn().PgConn().PID()).Scan(&waits)
		return err == nil && waits
	}, time.Minute, 5*time.Millisecond)
	_, err = b.View(first).Apply(ctx, []backend.Op{set(key, far)})
	require.NoError(t, err)
	require.NoError(t, first.Commit(ctx))
	require.NoError(t, <-cancelled)
	require.NoError(t, second.Commit(ctx))
	_, err = b.Get(ctx, key)
	require.ErrorIs(t, err, backend.ErrNotFound)
}
