package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
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

// A program that waits for itself learns it from the error.
func TestCallNamesAnExhaustedPool(t *testing.T) {
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{PollOnly: true})
	defer acquire(t, pool, pool.Config().MaxConns)()
	for name, call := range map[string]func(ctx context.Context) error{
		"Apply": func(ctx context.Context) error {
			_, err := b.Apply(ctx, []backend.Op{set("k", time.Now())})
			return err
		},
		"Get":   func(ctx context.Context) error { _, err := b.Get(ctx, "k"); return err },
		"Pause": func(ctx context.Context) error { return b.Pause(ctx, backend.Pause{}) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err := call(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "the pool")
		})
	}
}

// Handlers that forget their transactions take all connections, and the worker loses its lease.
func TestWorkOutlastsAnExhaustedPool(t *testing.T) {
	pool := newPool(t, "")
	s, err := postgres.Open(short(t), pool, &postgres.Options{Schema: fresh(t, "exhausted"), Timeout: 100 * time.Millisecond,
		Options: durable.Options{Lease: time.Second, Logger: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	fired := firings(t, s)
	_, err = s.Set(t.Context(), durable.Entry{Key: "before", Due: time.Now()})
	require.NoError(t, err)
	require.Equal(t, "before", receive(t, fired).Key)
	release := acquire(t, pool, pool.Config().MaxConns)
	require.Eventually(t, func() bool {
		st, _ := s.Stats(t.Context()) // without sizes
		return strings.Contains(st.LastError, "no connection from the pool")
	}, 20*time.Second, 10*time.Millisecond)
	release()
	_, err = s.Set(t.Context(), durable.Entry{Key: "after", Due: time.Now()})
	require.NoError(t, err)
	require.Equal(t, "after", receive(t, fired).Key)
}
