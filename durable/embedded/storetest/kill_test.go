package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
)

// shortStore keeps the tests quick.
var shortStore = role.Store{Lead: time.Second}

// TestAKilledWorkersTimersFire kills workers in the middle of firing. What a worker
// had written when it was killed, and not yet acknowledged, fires again with the
// same ID.
func TestAKilledWorkersTimersFire(t *testing.T) {
	t.Parallel()
	sh := newShop(t, shortStore)
	const n, kills = 2000, 4
	sh.set(n, 1500*time.Millisecond, 4*time.Second)
	slow := role.Worker{Takes: 50 * time.Millisecond} // so that handlers run when their worker is killed
	workers := []interface{ Kill() }{sh.startWorker(slow), sh.startWorker(slow)}
	var killed []time.Time
	for i := range kills {
		time.Sleep(time.Second)
		workers[i%2].Kill()
		killed = append(killed, time.Now())
		workers[i%2] = sh.startWorker(slow)
	}
	sh.await(n)
	sh.settle()
	all := sh.entries()
	balance(t, all, n)
	last := map[string]time.Time{}
	for _, e := range all {
		if before, again := last[e.Key]; again {
			assert.True(t, slices.ContainsFunc(killed, func(at time.Time) bool { return at.After(before) && at.Before(e.At) }),
				"%s fired at %v and %v, and no worker was killed in between", e.Key, before, e.At)
		}
		last[e.Key] = e.At
	}
}

// TestAKilledStoreLosesNothing kills the process that keeps the store while timers
// are set, and again while they fire.
func TestAKilledStoreLosesNothing(t *testing.T) {
	t.Parallel()
	sh := newShop(t, shortStore)
	const n = 2000
	set := make(chan struct{})
	go func() {
		defer close(set)
		sh.set(n, 6*time.Second, 3*time.Second)
	}()
	time.Sleep(20 * time.Millisecond)
	sh.kept[0].Kill()
	sh.startNode(0)
	<-set
	sh.kept[0].Kill()
	sh.startNode(0)
	sh.startWorker(role.Worker{})
	sh.startWorker(role.Worker{})
	for i := 1; i < 4; i++ { // a killed server forgets what it handed out last
		sh.await(n * i / 5)
		sh.kept[0].Kill()
		sh.startNode(0)
	}
	sh.await(n)
	sh.settle()
	assert.Zero(t, balance(t, sh.entries(), n))
}

// TestAWorkerWithItsClockSetBackIsNeverEarly has one worker whose clock is an hour
// behind. By its clock, none of the timers is due: it leaves them to the other.
func TestAWorkerWithItsClockSetBackIsNeverEarly(t *testing.T) {
	t.Parallel()
	sh := newShop(t, shortStore)
	behind := shortStore
	behind.Behind = time.Hour
	sh.startWorker(role.Worker{Store: behind})
	const n = 200
	sh.set(n, 1500*time.Millisecond, time.Second)
	time.Sleep(4 * time.Second)
	assert.Empty(t, sh.entries())
	sh.startWorker(role.Worker{})
	sh.await(n)
	sh.settle()
	balance(t, sh.entries(), n)
}

// TestADrainedWorkerLeavesTheRestToOthersAtOnce stops a worker while it holds
// timers. Those that it has not claimed fire in time elsewhere.
func TestADrainedWorkerLeavesTheRestToOthersAtOnce(t *testing.T) {
	t.Parallel()
	sh := newShop(t, role.Store{Lead: 4 * time.Second})
	const n = 500
	first := sh.startWorker(role.Worker{})
	sh.set(n, 5*time.Second, time.Second)
	time.Sleep(2 * time.Second) // it holds them
	sh.startWorker(role.Worker{})
	require.NoError(t, first.Stop(patience))
	all := sh.await(n)
	sh.settle()
	assert.Zero(t, balance(t, all, n))
	for _, e := range all {
		assert.Less(t, e.At.Sub(e.Due), 4*time.Second, "as late as if the lease had to end first")
	}
}

// TestASlowHandlerKeepsItsLease has handlers that take longer than a lease lasts.
func TestASlowHandlerKeepsItsLease(t *testing.T) {
	t.Parallel()
	sh := newShop(t, shortStore)
	const n = 20
	sh.startWorker(role.Worker{Takes: 9 * time.Second, Concurrency: n / 2})
	sh.startWorker(role.Worker{Takes: 9 * time.Second, Concurrency: n / 2})
	sh.set(n, time.Second, 100*time.Millisecond)
	sh.await(n)
	sh.settle()
	assert.Zero(t, balance(t, sh.entries(), n))
}
