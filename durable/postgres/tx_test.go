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
