//go:build unix

package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
)

// TestAPausedStoreLosesNothing stops the process that keeps the store, while timers
// are due and for longer than leases last.
func TestAPausedStoreLosesNothing(t *testing.T) {
	t.Parallel()
	sh := newShop(t, shortStore)
	const n = 1000
	sh.startWorker(role.Worker{})
	sh.set(n, 1500*time.Millisecond, 2*time.Second)
	sh.await(n / 10)
	require.NoError(t, sh.kept[0].Pause())
	kept := sh.kept[0]
	t.Cleanup(func() { kept.Resume() })
	time.Sleep(7 * time.Second)
	require.NoError(t, kept.Resume())
	sh.await(n)
	sh.settle()
	assert.Zero(t, balance(t, sh.entries(), n))
}

// TestAPausedWorkerFiresNothingTwice stops a worker for longer than its leases
// last. Another one gets its timers, including those that it had fired and not yet
// acknowledged. When it goes on, it fires none of them.
func TestAPausedWorkerFiresNothingTwice(t *testing.T) {
	t.Parallel()
	sh := newShop(t, shortStore)
	const n = 1000
	paused := sh.startWorker(role.Worker{})
	sh.set(n, 1500*time.Millisecond, 2*time.Second)
	sh.await(n / 10) // it holds the next second's
	require.NoError(t, paused.Pause())
	t.Cleanup(func() { paused.Resume() })
	time.Sleep(100 * time.Millisecond) // the system need not stop all threads at once
	stopped := time.Now()
	other := sh.startWorker(role.Worker{})
	sh.await(n)
	require.NoError(t, paused.Resume())
	time.Sleep(3 * time.Second)
	sh.settle()
	all := sh.entries()
	balance(t, all, n)
	since := slices.DeleteFunc(all, func(e role.Entry) bool { return e.At.Before(stopped) })
	keys := map[string]int{}
	for _, e := range since {
		keys[e.Key]++
	}
	assert.Len(t, since, len(keys), "a timer fired twice since")
	require.NoError(t, paused.Stop(patience))
	require.NoError(t, other.Stop(patience))
}
