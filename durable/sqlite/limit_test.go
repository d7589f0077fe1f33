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
