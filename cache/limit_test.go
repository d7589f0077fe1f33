package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cache"
)

func TestUnusedEntryIsEvicted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		uses := map[string]func(c *cache.Cache[string, int]){
			"Get":   func(c *cache.Cache[string, int]) { assert.True(t, holds(c, "a", 0)) },
			"Touch": func(c *cache.Cache[string, int]) { assert.True(t, c.Touch("a")) },
			"GetOrFetch": func(c *cache.Cache[string, int]) {
				_, err := c.GetOrFetch(t.Context(), "a", unexpected)
				assert.NoError(t, err)
			},
			"Set": func(c *cache.Cache[string, int]) { set(t, c, "a", 0) },
		}
		for name, use := range uses {
			c := newCache(t, options{Limit: 3})
			for i, key := range []string{"a", "b", "c"} {
				set(t, c, key, i)
			}
			use(c)
			set(t, c, "d", 3)
			assert.True(t, has(c, "a"), name)
			assert.False(t, has(c, "b"), "%s: the oldest that was not used", name)
			assert.Equal(t, 3, c.Len())
			assert.EqualValues(t, 1, c.Stats().Evictions)
		}
	})
}

// fetched returns a fetch of value.
func fetched(value int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { return value, nil }
}

// unexpected is a fetch that should not be called.
func unexpected(context.Context) (int, error) { return 0, fmt.Errorf("fetched") }

func TestNewEntryIsNotEvictedForItself(t *testing.T) {
	for _, limit := range []int{1, 2, 5} {
		c := newCache(t, options{Limit: limit})
		for i := range 20 {
			key := strconv.Itoa(i)
			set(t, c, key, i)
			require.True(t, holds(c, key, i), "and marked as used")
		}
		assert.Equal(t, limit, c.Len())
	}
}

func TestExpiredEntryMakesRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{Limit: 2})
		set(t, c, "a", 1)
		setFor(t, c, "b", 2, time.Second)
		pass(2 * time.Second)
		set(t, c, "c", 3)
		assert.True(t, holds(c, "a", 1), "the oldest stays, since there is room")
		assert.Zero(t, c.Stats().Evictions)
	})
}

func TestLimitHoldsUnderConcurrentUse(t *testing.T) {
	const limit = 10
	c := newCache(t, options{Timer: newTimer(t), Limit: limit})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 2000 {
				key := strconv.Itoa(rand.N(100))
				switch i % 5 {
				case 0, 1:
					assert.NoError(t, c.SetWithTTL(key, i, rand.N(3*tick)))
				case 2:
					c.Get(key)
				case 3:
					c.GetOrFetch(t.Context(), key, fetched(i))
				case 4:
					c.Delete(key)
				}
				if n := c.Len(); n > limit {
					t.Errorf("%d entries", n)
				}
			}
		})
	}
	all.Wait()
	n := 0
	for range c.All() { // Len never reports more than the limit
		n++
	}
	assert.LessOrEqual(t, n, limit)
	for i := range 2 * limit {
		set(t, c, "new"+strconv.Itoa(i), i)
	}
	assert.Equal(t, limit, c.Len(), "all of the room is used")
}

// referenceLRU is the cache to compare hit rates with.
type referenceLRU struct {
	limit int
	clock int
	uses  map[int]int
}

func (l *referenceLRU) hit(key int) bool {
	_, hit := l.uses[key]
	l.clock++
	l.uses[key] = l.clock
	if len(l.uses) > l.limit {
		oldest, least := 0, l.clock+1
		for key, use := range l.uses {
			if use < least {
				oldest, least = key, use
			}
		}
		delete(l.uses, oldest)
	}
	return hit
}

// TestHitRatesAreNoWorseThanLRU plays traces against the cache and an LRU.
func TestHitRatesAreNoWorseThanLRU(t *testing.T) {
	const limit, length = 100, 30_000
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.01, 1, 1999)
	traces := map[string]func(i int) int{
		"zipf":  func(int) int { return int(zipf.Uint64()) },
		"loop":  func(i int) int { return i % (limit * 5 / 4) },
		"small": func(i int) int { return i % (limit * 4 / 5) },
		"scan": func(i int) int { // a working set, interrupted by long scans
			if i%1000 < 300 {
				return 10_000 + i
			}
			return int(zipf.Uint64())
		},
	}
	for name, trace := range traces {
		c, err := cache.New(time.Hour, &cache.Options[int, int]{Limit: limit})
		require.NoError(t, err)
		lru := &referenceLRU{limit: limit, uses: map[int]int{}}
		ours, theirs := 0, 0
		for i := range length {
			key := trace(i)
			if _, ok := c.Get(key); ok {
				ours++
			} else {
				require.NoError(t, c.Set(key, i))
			}
			if lru.hit(key) {
				theirs++
			}
		}
		c.Close()
		assert.GreaterOrEqual(t, ours, theirs-length/200, name) // half a percent
		t.Logf("%s: %.1f %%, LRU %.1f %%", name, 100*float64(ours)/length, 100*float64(theirs)/length)
	}
}
