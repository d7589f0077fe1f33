package kubequeue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"

	"github.com/hashedwheel/hwt/examples/integrations/kubequeue"
	"github.com/hashedwheel/hwt/hashedwheel"
)

var _ workqueue.TypedDelayingInterface[string] = (*kubequeue.Queue[string])(nil)

// newQueue returns a queue on a timer with a tick of 10 ms, both of which end with the
// test.
func newQueue(t *testing.T) *kubequeue.Queue[string] {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
	require.NoError(t, err)
	q, err := kubequeue.New(timer, workqueue.NewTyped[string]())
	require.NoError(t, err)
	t.Cleanup(func() {
		q.ShutDown()
		timer.Stop()
	})
	return q
}

// pass advances fake time and returns the number of items added until then, after
// processing them.
func pass(q workqueue.TypedInterface[string], d time.Duration) (added int) {
	time.Sleep(d)
	synctest.Wait()
	for ; q.Len() > 0; added++ {
		item, _ := q.Get()
		q.Done(item)
	}
	return added
}

func TestAddRemovesTheDelayedAdd(t *testing.T) {
	for name, add := range map[string]func(q workqueue.TypedDelayingInterface[string]){
		"Add":      func(q workqueue.TypedDelayingInterface[string]) { q.Add("a") },
		"AddAfter": func(q workqueue.TypedDelayingInterface[string]) { q.AddAfter("a", 0) },
	} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(t)
			q.AddAfter("a", 5*time.Hour)
			add(q)
			assert.Equal(t, 1, pass(q, time.Second), name)
			assert.Zero(t, pass(q, 6*time.Hour), "%s: the item is not added again", name)
		})
	}
}

// TestClientGoAddsTheItemTwice shows the difference that the test above fixes.
func TestClientGoAddsTheItemTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewTypedDelayingQueue[string]()
		defer q.ShutDown()
		q.AddAfter("a", 5*time.Hour)
		synctest.Wait()
		q.AddAfter("a", 0)
		assert.Equal(t, 1, pass(q, time.Second))
		assert.Equal(t, 1, pass(q, 6*time.Hour))
	})
}

func TestSoonerDelayWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.AddAfter("a", time.Minute)
		q.AddAfter("a", time.Second)
		q.AddAfter("a", time.Hour)
		assert.Zero(t, pass(q, 900*time.Millisecond))
		assert.Equal(t, 1, pass(q, 200*time.Millisecond))
		assert.Zero(t, pass(q, 2*time.Hour))
	})
}

func TestStoppedTimerLosesNoItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer, err := hashedwheel.New(nil)
		require.NoError(t, err)
		q, err := kubequeue.New(timer, workqueue.NewTyped[string]())
		require.NoError(t, err)
		timer.Stop()
		q.AddAfter("a", time.Second)
		assert.Equal(t, 1, pass(q, time.Second))
		q.ShutDown()
	})
}

func TestAfterShutDownNoItemIsAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, shutDown := range []func(*kubequeue.Queue[string]){
			(*kubequeue.Queue[string]).ShutDown, (*kubequeue.Queue[string]).ShutDownWithDrain,
		} {
			q := newQueue(t)
			q.AddAfter("a", time.Second)
			shutDown(q)
			q.AddAfter("b", time.Second)
			assert.Zero(t, pass(q, time.Minute))
			assert.True(t, q.ShuttingDown())
		}
	})
}

func TestRateLimitingQueueTakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)
		q := workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
			workqueue.TypedRateLimitingQueueConfig[string]{DelayingQueue: newQueue(t)})
		q.AddRateLimited("a")
		assert.Equal(t, 1, pass(q, 1100*time.Millisecond))
		q.AddRateLimited("a")
		assert.Zero(t, pass(q, 1100*time.Millisecond))
		assert.Equal(t, 1, pass(q, time.Second))
	})
}
