package cache_test

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// TestEveryValueEndsOnce runs on the real clock, to provoke races. Each stored value must
// leave the cache once, and no other value may.
func TestEveryValueEndsOnce(t *testing.T) {
	const goroutines, steps, keys = 8, 3000, 60
	for _, o := range []options{{}, {Limit: 20}, {ExactExpiry: true}, {Sliding: 3 * time.Millisecond}, {Limit: 20, Sliding: 3 * time.Millisecond}} {
		onProcs(func() {
			timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond, SlowTaskThreshold: -1})
			require.NoError(t, err)
			defer timer.Stop()
			stored, ended := make([]atomic.Int64, goroutines*steps), make([]atomic.Int64, goroutines*steps)
			o.Timer = timer
			o.OnEvict = func(_ string, value int, _ cache.Reason) { ended[value].Add(1) }
			c, err := cache.New(time.Hour, &o)
			require.NoError(t, err)
			var all sync.WaitGroup
			for g := range goroutines {
				all.Go(func() {
					for i := range steps {
						key, value := strconv.Itoa(rand.N(keys)), g*steps+i
						ttl := time.Duration(1 + rand.N(6*time.Millisecond))
						switch rand.N(10) {
						case 0, 1, 2:
							stored[value].Add(1)
							assert.NoError(t, c.SetWithTTL(key, value, ttl))
						case 3:
							if ok, err := c.SetIfAbsent(key, value); assert.NoError(t, err) && ok {
								stored[value].Add(1)
							}
						case 4:
							c.Delete(key)
						case 5:
							c.Touch(key)
						case 6:
							if i%10 == 0 {
								c.DeleteFunc(func(k string, _ int) bool { return k == key })
							}
							c.TTL(key)
						case 7:
							if i%500 == 0 {
								c.Clear()
							}
						default:
							c.Get(key)
						}
					}
				})
			}
			all.Wait()
			c.Close()
			timer.Stop() // waits for a running callback
			assert.Zero(t, c.Len())
			for value := range ended {
				require.Equal(t, stored[value].Load(), ended[value].Load(), "value %d with %+v", value, o)
			}
		})
	}
}

// TestExpiryLeavesNoEntryAndNoTimeout runs on the real clock. After a storm of operations,
// every entry must be in a bucket of the wheel, and expire.
func TestExpiryLeavesNoEntryAndNoTimeout(t *testing.T) {
	for _, o := range []options{{}, {Limit: 30}, {Sliding: 4 * time.Millisecond}} {
		onProcs(func() {
			timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond, SlowTaskThreshold: -1})
			require.NoError(t, err)
			defer timer.Stop()
			o.Timer = timer
			c, err := cache.New(5*time.Millisecond, &o)
			require.NoError(t, err)
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for i := range 3000 {
						key := strconv.Itoa(rand.N(50))
						switch rand.N(6) {
						case 0, 1:
							assert.NoError(t, c.SetWithTTL(key, i, rand.N(8*time.Millisecond)))
						case 2:
							c.Delete(key)
						case 3:
							c.Touch(key)
						case 4:
							c.GetOrFetch(t.Context(), key, fetched(i))
						case 5:
							c.Get(key)
						}
					}
				})
			}
			all.Wait()
			assert.Eventually(t, func() bool { return c.Len() == 0 && timer.Pending() == 0 }, 10*time.Second, time.Millisecond)
			c.Close()
		})
	}
}

// TestCloseRemovesEntriesOfRacingSets runs on the real clock, to provoke races.
func TestCloseRemovesEntriesOfRacingSets(t *testing.T) {
	timer := newTimer(t)
	for range 300 {
		c, err := cache.New(time.Hour, &options{Timer: timer})
		require.NoError(t, err)
		var all sync.WaitGroup
		for g := range 2 {
			all.Go(func() {
				for i := 0; ; i++ {
					if err := c.Set(strconv.Itoa(2*i+g), i); err != nil {
						assert.ErrorIs(t, err, cache.ErrClosed)
						return
					}
				}
			})
		}
		for c.Len() < 10 {
			time.Sleep(10 * time.Microsecond) // polls until both goroutines set
		}
		c.Close()
		all.Wait()
		require.Zero(t, c.Len())
		require.Zero(t, timer.Pending())
	}
}
