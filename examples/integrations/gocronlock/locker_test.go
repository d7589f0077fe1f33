package gocronlock_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/memory"
	"github.com/hashedwheel/hwt/examples/integrations/gocronlock"
)

// inBubble calls f in a bubble with a store.
func inBubble(t *testing.T, f func(t *testing.T, store *durable.Store)) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		defer store.Close()
		f(t, store.Store)
	})
}

func newLocker(t *testing.T, store *durable.Store, replica string, hold time.Duration) *gocronlock.Locker {
	l, err := gocronlock.New(store, replica, hold)
	require.NoError(t, err)
	return l
}

func TestLockLastsBeyondTheRun(t *testing.T) {
	inBubble(t, func(t *testing.T, store *durable.Store) {
		a, b := newLocker(t, store, "a", time.Second), newLocker(t, store, "b", time.Second)
		lock, err := a.Lock(t.Context(), "report")
		require.NoError(t, err)
		require.NoError(t, lock.Unlock(t.Context()))
		_, err = b.Lock(t.Context(), "other job")
		require.NoError(t, err)
		time.Sleep(time.Second - time.Nanosecond)
		_, err = b.Lock(t.Context(), "report")
		require.ErrorIs(t, err, gocronlock.ErrHeld)
		time.Sleep(time.Nanosecond)
		_, err = b.Lock(t.Context(), "report")
		require.NoError(t, err)
		e, err := store.Get(t.Context(), gocronlock.Prefix+"report")
		require.NoError(t, err)
		require.Equal(t, "b", e.Headers[gocronlock.Replica])
	})
}

func TestOneOfManyCallersGetsTheLock(t *testing.T) {
	inBubble(t, func(t *testing.T, store *durable.Store) {
		l := newLocker(t, store, "a", time.Second)
		for range 50 {
			var got atomic.Int64
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if _, err := l.Lock(t.Context(), "report"); err == nil {
						got.Add(1)
					} else if !errors.Is(err, gocronlock.ErrHeld) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			require.EqualValues(t, 1, got.Load())
			time.Sleep(time.Second)
		}
	})
}

// Replicas that start at different times reach a job of an interval at different times. A lock that
// ends with its short run would let each of them run it (go-co-op/gocron issue 841).
func TestReplicasOfDifferentStartRunAJobOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, store *durable.Store) {
		var runs atomic.Int64
		for _, replica := range []string{"a", "b", "c"} {
			s, err := gocron.NewScheduler(gocron.WithDistributedLocker(newLocker(t, store, replica, 4500*time.Millisecond)))
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Shutdown()) }()
			_, err = s.NewJob(gocron.DurationJob(5*time.Second), gocron.NewTask(func() { runs.Add(1) }), gocron.WithName("report"))
			require.NoError(t, err)
			s.Start()
			time.Sleep(1700 * time.Millisecond)
		}
		time.Sleep(1000 * time.Second)
		require.InDelta(t, 200, runs.Load(), 1)
	})
}

func TestForeignEntryOfTheKeyIsAnError(t *testing.T) {
	inBubble(t, func(t *testing.T, store *durable.Store) {
		_, err := store.Set(t.Context(), durable.Entry{Key: gocronlock.Prefix + "report", Due: time.Now().Add(time.Hour)})
		require.NoError(t, err)
		_, err = newLocker(t, store, "a", time.Second).Lock(t.Context(), "report")
		require.ErrorContains(t, err, `gocronlock: job "report": parsing time ""`)
	})
}

func TestHoldMustBePositive(t *testing.T) {
	_, err := gocronlock.New(nil, "a", 0)
	require.EqualError(t, err, "gocronlock: New: hold is 0s (expected: more than 0)")
}
