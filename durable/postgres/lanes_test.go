package postgres_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
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
		_, err := b.Apply(ctx, ops)
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

// Operations of one key wait for each other, in the queue and in a batch.
func TestCloseFailsTheQueue(t *testing.T) {
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{PollOnly: true})
	defer acquire(t, pool, pool.Config().MaxConns)()
	var calls sync.WaitGroup
	for range 9 {
		calls.Go(func() {
			results, err := b.Apply(context.Background(), []backend.Op{set("k", time.Now()), set("l", time.Now())})
			for _, r := range results {
				err = errors.Join(err, r.Err)
			}
			assert.ErrorIs(t, err, backend.ErrClosed)
		})
	}
	assert.Eventually(t, func() bool { return b.Queued() > 9 }, 20*time.Second, time.Millisecond)
	require.NoError(t, b.Close())
	calls.Wait()
}
