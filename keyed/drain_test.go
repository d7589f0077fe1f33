package keyed_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/keyed"
)

func TestDrainCallsEachPairOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer)
		want := map[int]int{}
		for key := range 1000 {
			set(t, w, key, -key, time.Second)
			want[key] = -key
		}
		var mu sync.Mutex
		got := map[int]int{}
		require.NoError(t, w.Drain(func(e keyed.Entry[int, int]) {
			mu.Lock()
			defer mu.Unlock()
			assert.NotContains(t, got, e.Key)
			got[e.Key] = e.Value
		}))
		assert.Equal(t, want, got)
		assert.Zero(t, w.Len())
		assert.EqualValues(t, 1000, w.Stats().Drained)
		pass(time.Minute)
		assert.Empty(t, r.take(), "drained pairs do not expire")
	})
}

func TestDrainOfAnEmptyWheelCallsNothing(t *testing.T) {
	w, _ := newWheel(t, newTimer(t, 8))
	assert.NoError(t, w.Drain(func(keyed.Entry[int, int]) { t.Error("called") }))
	assert.EqualError(t, w.Drain(nil), "keyed: Drain: f is nil (expected: a function)")
}

func TestDrainCallbackMaySchedule(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		w, r := newWheel(t, timer, keyed.Options[int, int]{DrainWorkers: 2})
		for key := range 100 {
			set(t, w, key, key, time.Hour)
		}
		var calls atomic.Int64
		require.NoError(t, w.Drain(func(e keyed.Entry[int, int]) {
			calls.Add(1)
			set(t, w, e.Key, e.Value+1000, time.Second) // the same key
			set(t, w, e.Key+1000, e.Value, time.Second) // another one
			move(t, w, e.Key, time.Minute)
			w.Delete(e.Key + 1000)
		}))
		assert.EqualValues(t, 100, calls.Load(), "pairs set by the drain callback are not drained")
		assert.Equal(t, 100, w.Len())
		pass(time.Hour)
		assert.Len(t, r.take(), 100)
	})
}

func TestDrainWithinADrainReturns(t *testing.T) {
	w, _ := newWheel(t, newTimer(t, 8), keyed.Options[int, int]{DrainWorkers: 1})
	for key := range 10 {
		set(t, w, key, key, time.Hour)
	}
	var inner atomic.Int64
	require.NoError(t, w.Drain(func(e keyed.Entry[int, int]) {
		set(t, w, e.Key, e.Value, time.Hour)
		require.NoError(t, w.Drain(func(keyed.Entry[int, int]) { inner.Add(1) }))
	}))
	assert.EqualValues(t, 10, inner.Load())
}

func TestDrainRunsInParallelUpToItsLimit(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Timer) {
		for _, limit := range []int{1, 3, keyed.DefaultDrainWorkers} {
			w, _ := newWheel(t, timer, keyed.Options[int, int]{DrainWorkers: limit})
			for key := range 4 * limit {
				set(t, w, key, key, time.Hour)
			}
			var running, most atomic.Int64
			start := time.Now()
			require.NoError(t, w.Drain(func(keyed.Entry[int, int]) {
				for n := running.Add(1); ; {
					if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
						break
					}
				}
				time.Sleep(time.Second)
				running.Add(-1)
			}))
			assert.EqualValues(t, limit, most.Load())
			assert.Equal(t, 4*time.Second, time.Since(start), "no worker is idle")
		}
	})
}

func TestDrainIsolatesItsCallbacks(t *testing.T) {
	w, _ := newWheel(t, newTimer(t, 8), keyed.Options[int, int]{DrainWorkers: 2})
	for key := range 30 {
		set(t, w, key, key, time.Hour)
	}
	var calls atomic.Int64
	err := w.Drain(func(e keyed.Entry[int, int]) {
		calls.Add(1)
		switch e.Key % 3 {
		case 0:
			panic("broken")
		case 1:
			runtime.Goexit()
		}
	})
	assert.EqualValues(t, 30, calls.Load())
	var failed *keyed.DrainError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 20, failed.Failed)
	assert.Equal(t, 30, failed.Drained)
	assert.ErrorIs(t, err, failed.First)
	assert.Zero(t, w.Len())
}

func TestDrainReturnsThePanic(t *testing.T) {
	w, _ := newWheel(t, newTimer(t, 8))
	set(t, w, 1, 1, time.Hour)
	err := w.Drain(func(keyed.Entry[int, int]) { panic("broken") })
	var cause *hwt.PanicError
	require.ErrorAs(t, err, &cause)
	assert.Equal(t, "broken", cause.Value)
	assert.Contains(t, string(cause.Stack), "TestDrainReturnsThePanic")
	assert.EqualError(t, err, "keyed: 1 of 1 drain callbacks failed, the first with: hwt: panic: broken")
}

func TestConcurrentDrainsShareThePairs(t *testing.T) {
	w, _ := newWheel(t, newTimer(t, 8))
	const n = 10_000
	for key := range n {
		set(t, w, key, key, time.Hour)
	}
	calls := make([]atomic.Int64, n)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			assert.NoError(t, w.Drain(func(e keyed.Entry[int, int]) { calls[e.Key].Add(1) }))
		})
	}
	all.Wait()
	for key := range calls {
		require.EqualValues(t, 1, calls[key].Load(), "key %d", key)
	}
	assert.EqualValues(t, n, w.Stats().Drained)
}
