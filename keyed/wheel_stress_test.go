package keyed_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/keyed"
)

// The tests in this file run on the real clock, to provoke races.

// onProcs runs f with several settings of GOMAXPROCS.
func onProcs(f func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(procs)
		f()
	}
}

// ends counts how each value ended.
type ends []atomic.Int64

func (e ends) end(_, value int) { e[value].Add(1) }

func (e ends) drained(d keyed.Entry[int, int]) { e.end(d.Key, d.Value) }

func fineTimer(tb testing.TB) *hashedwheel.Timer {
	timer, err := hashedwheel.New(&hashedwheel.Options{
		TickDuration:      time.Millisecond,
		TicksPerWheel:     16,
		SlowTaskThreshold: -1,
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { timer.Stop() })
	return timer
}

func TestFiftyGoroutinesOnAHundredKeys(t *testing.T) {
	const goroutines, keys, steps = 50, 100, 200
	onProcs(func() {
		timer := fineTimer(t)
		seen := make(ends, goroutines*steps)
		w, err := keyed.New(timer, seen.end, nil)
		require.NoError(t, err)
		var all sync.WaitGroup
		for g := range goroutines {
			all.Go(func() {
				for step := range steps {
					key, delay := rand.N(keys), rand.N(6*time.Millisecond)-time.Millisecond
					switch rand.N(10) {
					case 0, 1, 2, 3:
						assert.NoError(t, w.Set(key, g*steps+step, delay))
					case 4, 5, 6:
						move(t, w, key, delay)
					case 7:
						w.Delete(key)
					case 8:
						w.Get(key)
						w.Has(key)
						w.Len()
					case 9:
						if step%20 == 0 {
							assert.NoError(t, w.Drain(seen.drained))
						}
					}
				}
			})
		}
		all.Wait()
		require.Eventually(t, func() bool { return w.Len() == 0 && timer.Pending() == 0 }, 10*time.Second, time.Millisecond,
			"each pair has a timeout, and each timeout a pair")
		w.Close()
		timer.Stop()
		for value := range seen {
			assert.LessOrEqual(t, seen[value].Load(), int64(1), "value %d ended twice", value)
		}
		assert.Zero(t, w.Stats().Cancelled)
	})
}

func TestRacingEndsLoseNoPair(t *testing.T) {
	const goroutines, each = 8, 2000
	onProcs(func() {
		timer := fineTimer(t)
		seen := make(ends, goroutines*each)
		var set, deleted atomic.Int64
		w, err := keyed.New(timer, seen.end, nil)
		require.NoError(t, err)
		var all sync.WaitGroup
		for g := range goroutines {
			all.Go(func() {
				for i := range each {
					key := g*each + i // unique, so that no pair is replaced
					switch err := w.Set(key, key, rand.N(10*time.Millisecond)); err {
					case nil:
						set.Add(1)
					default:
						assert.ErrorIs(t, err, keyed.ErrClosed)
					}
					w.Move(rand.N(key+1), rand.N(10*time.Millisecond))
					if w.Delete(rand.N(key + 1)) {
						deleted.Add(1)
					}
				}
			})
		}
		all.Go(func() {
			for range 5 {
				time.Sleep(time.Millisecond)
				w.Drain(seen.drained)
			}
		})
		all.Go(func() {
			time.Sleep(8 * time.Millisecond)
			w.Close()
		})
		all.Wait()
		timer.Stop() // waits for a running callback
		s := w.Stats()
		assert.Zero(t, s.Pending)
		assert.Equal(t, set.Load(), s.Fired+s.Drained+s.Cancelled+deleted.Load(), "%+v, deleted %d", s, deleted.Load())
		called := int64(0)
		for value := range seen {
			n := seen[value].Load()
			assert.LessOrEqual(t, n, int64(1), "value %d ended twice", value)
			called += n
		}
		assert.Equal(t, s.Fired+s.Drained, called)
	})
}

func TestCloseRemovesEntriesOfRacingSets(t *testing.T) {
	timer := fineTimer(t)
	for range enginetest.Effort(2000, 300, 300) {
		w, err := keyed.New(timer, func(int, int) {}, nil)
		require.NoError(t, err)
		var all sync.WaitGroup
		for g := range 2 {
			all.Go(func() {
				for i := 0; ; i++ {
					if err := w.Set(2*i+g, 0, time.Hour); err != nil {
						assert.ErrorIs(t, err, keyed.ErrClosed)
						return
					}
				}
			})
		}
		for w.Len() < 10 {
			runtime.Gosched()
		}
		w.Close()
		all.Wait()
		require.Zero(t, w.Len())
		require.Zero(t, timer.Pending())
	}
}
