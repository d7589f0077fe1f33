package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// Two processes share a limit, which changes while they work. Each stands for a store on the file.
func TestLimitHoldsAcrossStores(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timers.db")
	scope := durable.Scope{Group: "tenant"}
	var mu sync.Mutex
	running, most, fired := 0, 0, 0
	handler := func(context.Context, durable.Firing) error {
		mu.Lock()
		running++
		fired++
		most = max(most, running)
		mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		running--
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	var stores []*Store
	var works sync.WaitGroup
	for range 2 {
		s, err := Open(t.Context(), path, nil)
		require.NoError(t, err)
		defer s.Close()
		stores = append(stores, s)
		works.Go(func() { _ = s.Work(ctx, handler, nil) })
	}
	defer works.Wait()
	defer cancel()
	entries := make([]durable.Entry, 0, 2000)
	for i := range cap(entries) {
		entries = append(entries, durable.Entry{Key: fmt.Sprint(i), Due: time.Now(), Group: scope.Group})
	}
	require.NoError(t, stores[0].Limit(ctx, scope, durable.Limit{Running: 8}))
	_, err := stores[1].SetMany(ctx, slices.Values(entries))
	require.NoError(t, err)
	for i, limit := range []int{8, 3, 12, 1} {
		require.NoError(t, stores[i%2].Limit(ctx, scope, durable.Limit{Running: limit}))
		mu.Lock()
		before, allowed := fired, max(limit, running)
		most = running
		mu.Unlock()
		for begun := before; begun < before+20*limit; time.Sleep(time.Millisecond) {
			mu.Lock()
			begun = fired
			require.LessOrEqual(t, most, allowed)
			mu.Unlock()
		}
	}
}

// Workers share their limits twice per second, beside the permits of any number of other limits.
func TestShareReadsOnlyPermitsOfItsLimits(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "timers.db"), nil)
	require.NoError(t, err)
	defer s.Close()
	var plan []string
	require.NoError(t, s.backend.read(t.Context(), func(c *conn) error {
		return c.query("EXPLAIN QUERY PLAN " + permitsOf).bytesOf("p/").bytesOf("").int(1).int(1).each(func(q *query) error {
			plan = append(plan, q.s.ColumnText(3))
			return nil
		})
	}))
	require.Equal(t, []string{"SCAN w", "SEARCH p USING PRIMARY KEY (prefix=? AND grp=? AND worker=?) LEFT-JOIN"}, plan)
}

// Permits leave with their workers, also those of workers that another release has deleted.
func TestPermitsOfGoneWorkersAreDeleted(t *testing.T) {
	ctx := t.Context()
	s, err := Open(ctx, filepath.Join(t.TempDir(), "timers.db"), nil)
	require.NoError(t, err)
	defer s.Close()
	b := s.backend
	require.NoError(t, b.SetLimit(ctx, backend.Limit{Running: 5}))
	all, err := b.Limited(ctx, backend.Version{})
	require.NoError(t, err)
	heir, err := b.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	worker, err := b.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	_, err = b.Share(ctx, worker, all.Version.Newest, []backend.Demand{{Wants: 9}})
	require.NoError(t, err)
	_, err = b.Heartbeat(ctx, worker, 0)
	require.NoError(t, err)
	grants, err := b.Share(ctx, heir, all.Version.Newest, []backend.Demand{{Wants: 2}})
	require.NoError(t, err)
	require.Equal(t, 2, grants[0].Held)
	_, err = b.Adopt(ctx, heir, nil, 10)
	require.NoError(t, err)
	var workers []int64
	require.NoError(t, b.read(ctx, func(c *conn) error {
		return c.query("SELECT worker FROM hwt_permits").each(func(q *query) error {
			workers = append(workers, q.s.ColumnInt64(0))
			return nil
		})
	}))
	require.Equal(t, []int64{heir}, workers)
}
