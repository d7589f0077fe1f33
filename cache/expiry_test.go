package cache_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cache"
)

func TestEntryIsFoundUntilItExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{Timer: newTimer(t)})
		set(t, c, "a", 1)
		assert.True(t, holds(c, "a", 1))
		pass(time.Minute - 1)
		assert.True(t, holds(c, "a", 1))
		pass(late + 1)
		assert.False(t, has(c, "a"))
		assert.Zero(t, c.Len())
		assert.Equal(t, cache.Stats{Hits: 2, Misses: 1, Expirations: 1}, c.Stats())
	})
}

// TestEveryEntryExpiresOnTime sets entries with TTLs of all magnitudes at many times, so
// that they pass through every level of the wheel.
func TestEveryEntryExpiresOnTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type due struct{ from, until time.Time }
		var mu sync.Mutex
		dues := map[string]due{}
		c := newCache(t, options{Timer: newTimer(t), OnEvict: func(key string, _ int, reason cache.Reason) {
			mu.Lock()
			defer mu.Unlock()
			assert.Equal(t, cache.ReasonExpired, reason)
			assert.WithinRange(t, time.Now(), dues[key].from, dues[key].until, key)
			delete(dues, key)
		}})
		random := rand.New(rand.NewPCG(1, 2))
		for i := range 2000 {
			ttl := time.Duration(1) << random.IntN(57) // up to four years
			ttl += time.Duration(random.Int64N(int64(ttl)))
			key := fmt.Sprint(i, " for ", ttl)
			mu.Lock()
			dues[key] = due{time.Now().Add(ttl), time.Now().Add(ttl + late)}
			mu.Unlock()
			setFor(t, c, key, i, ttl)
			pass(time.Duration(random.Int64N(int64(time.Second))))
		}
		pass(5 * 365 * 24 * time.Hour)
		assert.Empty(t, dues)
		assert.Zero(t, c.Len())
	})
}

func TestExactExpiryIsExactToTheNanosecond(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{ExactExpiry: true})
		set(t, c, "a", 1)
		pass(time.Minute - 1)
		assert.True(t, holds(c, "a", 1))
		pass(1)
		assert.False(t, has(c, "a"))
		for range c.All() {
			t.Error("it has expired")
		}
		pass(time.Second)
		assert.Zero(t, c.Len())
	})
}

func TestSetStartsTheTTLAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, o := range []options{{}, {ExactExpiry: true}, {Limit: 2}, {Sliding: time.Hour}} {
			c := newCache(t, o)
			set(t, c, "a", 1)
			pass(50 * time.Second)
			set(t, c, "a", 2) // later
			pass(50 * time.Second)
			assert.True(t, holds(c, "a", 2))
			setFor(t, c, "a", 3, time.Second) // sooner
			pass(time.Second + 200*time.Millisecond)
			assert.False(t, has(c, "a"))
			assert.Zero(t, c.Len())
			pass(time.Hour)
			assert.EqualValues(t, 1, c.Stats().Expirations, "a replaced entry does not expire")
		}
	})
}

func TestTTLOfZeroOrLessRemovesTheEntry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, ttl := range []time.Duration{0, -1, math.MinInt64} {
			for _, limit := range []int{0, 2} {
				var ends ends
				c := newCache(t, options{Limit: limit, OnEvict: ends.add})
				set(t, c, "a", 1)
				setFor(t, c, "a", 2, ttl)
				setFor(t, c, "b", 2, ttl)
				assert.Zero(t, c.Len())
				assert.False(t, has(c, "a") || has(c, "b"))
				assert.Equal(t, []end{{"a", 1, cache.ReasonReplaced}}, ends.take())
				c.Close()
				assert.ErrorIs(t, c.SetWithTTL("a", 2, ttl), cache.ErrClosed)
			}
		}
	})
}

func TestEntriesWithoutExpiryStay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		pass(time.Hour)
		for _, o := range []options{{Timer: newTimer(t)}, {ExactExpiry: true}, {Limit: 200}} {
			c := newCache(t, o)
			for i := range 100 {
				setFor(t, c, fmt.Sprint(i), i, cache.NoExpiry-time.Duration(i/2)) // some of them overflow
			}
			pass(1000 * time.Hour)
			for i := range 100 {
				assert.True(t, holds(c, fmt.Sprint(i), i))
			}
			left, ok := c.TTL("0")
			assert.True(t, ok)
			assert.Equal(t, cache.NoExpiry, left)
			setFor(t, c, "0", 0, time.Second) // expires now
			setFor(t, c, "1", 0, time.Second)
			setFor(t, c, "1", 0, cache.NoExpiry) // expires no longer
			pass(time.Minute)
			assert.False(t, has(c, "0"))
			assert.True(t, has(c, "1"))
		}
		c, err := cache.New[string, int](cache.NoExpiry, nil)
		require.NoError(t, err)
		defer c.Close()
		set(t, c, "a", 1)
		pass(1000 * time.Hour)
		assert.True(t, holds(c, "a", 1))
	})
}

func TestJitterOnlyShortensTTLs(t *testing.T) {
	for _, jitter := range []float64{0, 0.05, 0.5} {
		bubble(t, func(t *testing.T) {
			const n = 1000
			var expired []time.Duration
			start := time.Now()
			c, err := cache.New(100*time.Second, &options{
				Jitter: jitter,
				Timer:  newTimer(t),
				OnEvict: func(string, int, cache.Reason) { // on the worker, sequentially
					expired = append(expired, time.Since(start))
				},
			})
			require.NoError(t, err)
			for i := range n {
				set(t, c, fmt.Sprint(i), i)
			}
			pass(time.Hour)
			require.Len(t, expired, n)
			width := time.Duration(jitter * float64(100*time.Second))
			first, last := expired[0], expired[n-1]
			assert.GreaterOrEqual(t, first, 100*time.Second-width)
			assert.LessOrEqual(t, last, 100*time.Second+late)
			assert.LessOrEqual(t, first, 100*time.Second-width*9/10+late, "the whole range is used")
			assert.GreaterOrEqual(t, last, 100*time.Second-width/10, "the whole range is used")
			setFor(t, c, "a", 1, cache.NoExpiry)
			left, _ := c.TTL("a")
			assert.Equal(t, cache.NoExpiry, left)
			c.Close()
		})
	}
}

func TestTTLReturnsTheTimeLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		set(t, c, "a", 1)
		left, ok := c.TTL("a")
		assert.True(t, ok)
		assert.Equal(t, time.Minute, left)
		pass(20 * time.Second)
		left, _ = c.TTL("a")
		assert.Equal(t, 40*time.Second, left)
		_, ok = c.TTL("b")
		assert.False(t, ok)
		assert.Equal(t, cache.Stats{}, c.Stats(), "TTL does not count as a lookup")
	})
}
