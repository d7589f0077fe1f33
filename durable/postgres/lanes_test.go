package postgres_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// acquire takes n connections of a pool, and returns a function that returns them.
func acquire(t *testing.T, pool *pgxpool.Pool, n int32) (release func()) {
	t.Helper()
	conns := make([]*pgxpool.Conn, n)
	for i := range conns {
		var err error
		conns[i], err = pool.Acquire(short(t))
		require.NoError(t, err)
	}
	release = sync.OnceFunc(func() {
		for _, c := range conns {
			c.Release()
		}
	})
	t.Cleanup(release)
	return release
}

// Calls whose contexts end while no transaction can begin, such as in an outage of the server, have
// no effect later, and take no memory.
func TestCallEndedBeforeItsTransactionIsForgotten(t *testing.T) {
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{PollOnly: true})
	create := backend.Op{Kind: backend.Create, Row: backend.Row{Key: "k", Due: time.Now().Add(time.Hour).UnixNano()}}
	release := acquire(t, pool, pool.Config().MaxConns)
	call := func(ops ...backend.Op) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := b.Apply(ctx, nil, ops)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	call(set("other", time.Now())) // in one lane
	for range 20 {
		call(slices.Repeat([]backend.Op{create}, 500)...)
	}
	require.Less(t, b.Queued(), 2000)
	release()
	require.NoError(t, apply(t, b, create)[0].Err)
}
