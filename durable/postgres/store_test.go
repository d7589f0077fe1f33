package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// fired collects firings.
type fired struct {
	mu  sync.Mutex
	all map[string][]durable.Firing
}

func (f *fired) handle(_ context.Context, firing durable.Firing) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[firing.Key] = append(f.all[firing.Key], firing)
	return nil
}

func (f *fired) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.all)
}

func openStore(t *testing.T, schema string) *postgres.Store {
	s, err := postgres.Open(t.Context(), newPool(t, ""), &postgres.Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// firings starts a Work that sends its firings to the returned channel.
func firings(t *testing.T, s *postgres.Store) <-chan durable.Firing {
	t.Helper()
	all := make(chan durable.Firing, 10_000)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- s.Work(ctx, func(_ context.Context, f durable.Firing) error { all <- f; return nil }, nil)
	}()
	t.Cleanup(func() {
		end()
		assert.NoError(t, <-done)
	})
	return all
}

// receive waits for a firing. The test fails after a minute.
func receive(t *testing.T, all <-chan durable.Firing) durable.Firing {
	t.Helper()
	select {
	case f := <-all:
		return f
	case <-time.After(time.Minute):
		require.Fail(t, "nothing fires")
		panic("unreachable")
	}
}

func TestTwoStoresFireEachEntryOnce(t *testing.T) {
	a, b := openStore(t, fresh(t, "two")), openStore(t, "two")
	f := &fired{all: make(map[string][]durable.Firing)}
	ctx, end := context.WithCancel(t.Context())
	var works sync.WaitGroup
	for _, s := range []*postgres.Store{a, b} {
		works.Go(func() { require.NoError(t, s.Work(ctx, f.handle, nil)) })
	}
	const n = 600
	due := time.Now().Add(time.Second)
	stored, err := a.SetMany(ctx, func(yield func(durable.Entry) bool) {
		for i := range n {
			if !yield(durable.Entry{Key: fmt.Sprint("k", i), Due: due.Add(time.Duration(i) * time.Millisecond)}) {
				return
			}
		}
		yield(durable.Entry{Key: "cancelled", Due: due.Add(time.Hour)})
	})
	require.NoError(t, err)
	require.Equal(t, n+1, stored)
	_, err = b.Cancel(ctx, "cancelled")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return f.count() == n }, 30*time.Second, 10*time.Millisecond)
	end()
	works.Wait()
	for key, firings := range f.all {
		require.Len(t, firings, 1, key)
		require.GreaterOrEqual(t, firings[0].Lateness, time.Duration(0))
	}
	require.NotContains(t, f.all, "cancelled")
}

// A handler's effect and its acknowledgement commit together.
func TestDoneTxCommitsWithTheHandlersEffect(t *testing.T) {
	pool := newPool(t, "")
	s := openStore(t, fresh(t, "effects"))
	ctx, end := context.WithCancel(t.Context())
	_, err := pool.Exec(ctx, "CREATE TABLE effects.done (key bytea)")
	require.NoError(t, err)
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	_, err = s.Tx(tx).Set(ctx, durable.Entry{Key: "k", Due: time.Now()})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))
	attempts := make(chan struct{}, 10)
	var work sync.WaitGroup
	work.Go(func() {
		require.NoError(t, s.Work(ctx, func(ctx context.Context, f durable.Firing) error {
			attempts <- struct{}{}
			return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "INSERT INTO effects.done VALUES ($1)", []byte(f.Key)); err != nil {
					return err
				}
				if err := s.Tx(tx).Done(ctx, f); err != nil || f.Attempt > 1 {
					return err
				}
				return fmt.Errorf("the first attempt rolls back")
			})
		}, &durable.WorkOptions{BaseBackoff: time.Millisecond}))
	})
	<-attempts
	<-attempts
	require.Eventually(t, func() bool {
		var n int
		err := pool.QueryRow(ctx, "SELECT count(*) FROM effects.done").Scan(&n)
		_, missing := s.Get(ctx, "k")
		return err == nil && n == 1 && missing != nil
	}, 20*time.Second, 10*time.Millisecond)
	end()
	work.Wait()
	require.Empty(t, attempts)
}

// The connections of the pool are the user's: after Close, the pool has them all.
func TestCloseLeavesNoConnection(t *testing.T) {
	pool := poolWith(t, "application_name", "lingers")
	s, err := postgres.Open(t.Context(), pool, &postgres.Options{Schema: fresh(t, "lingers")})
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Work(ctx, func(context.Context, durable.Firing) error { end(); return nil }, nil) }()
	_, err = s.Set(ctx, durable.Entry{Key: "k", Due: time.Now()})
	require.NoError(t, err)
	require.NoError(t, <-done)
	require.NoError(t, s.Close())
	require.Eventually(t, func() bool { // the pool closes the connection of LISTEN in the background
		return pool.Stat().AcquiredConns() == 0
	}, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { // the server notices the end of a connection later
		var all int32
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lingers'").Scan(&all))
		return all <= pool.Stat().TotalConns()
	}, time.Minute, 20*time.Millisecond, "connections outside of the pool")
}
