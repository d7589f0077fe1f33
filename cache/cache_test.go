package cache_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestNewRefusesBadArguments(t *testing.T) {
	_, err := cache.New[string, int](0, nil)
	assert.EqualError(t, err, "cache: New: ttl is 0s (expected: a positive duration)")
	for _, c := range []struct {
		options options
		want    string
	}{
		{options{Limit: -1}, "cache: Options.Limit: -1 (expected: 0 for no limit, or 1 to 1073741824)"},
		{options{Limit: 1<<30 + 1}, "cache: Options.Limit: 1073741825 (expected: 0 for no limit, or 1 to 1073741824)"},
		{options{Sliding: -1}, "cache: Options.Sliding: -1ns (expected: 0 for none, or more)"},
		{options{Jitter: 1}, "cache: Options.Jitter: 1 (expected: 0 <= Jitter < 1)"},
		{options{Jitter: -0.1}, "cache: Options.Jitter: -0.1 (expected: 0 <= Jitter < 1)"},
		{options{Jitter: math.NaN()}, "cache: Options.Jitter: NaN (expected: 0 <= Jitter < 1)"},
		{options{Jitter: 0.05, ExactExpiry: true}, "cache: Options.Jitter: 0.05 (expected: 0 with ExactExpiry or Sliding)"},
		{options{Jitter: 0.05, Sliding: 1}, "cache: Options.Jitter: 0.05 (expected: 0 with ExactExpiry or Sliding)"},
		{
			options{Timer: (*hashedwheel.Timer)(nil)},
			"cache: Options.Timer: (*hashedwheel.Timer)(nil) (expected: nil for the cache's own timer, or a timer)",
		},
	} {
		_, err := cache.New(time.Minute, &c.options)
		assert.EqualError(t, err, c.want)
	}
}

func TestCacheHasItsOwnTimerOrSharesOne(t *testing.T) {
	bubble(t, func(t *testing.T) { // which fails if a goroutine is left
		own := newCache(t, options{})
		set(t, own, "a", 1)
		own.Close()

		timer := newTimer(t)
		a, b := newCache(t, options{Timer: timer}), newCache(t, options{Timer: timer})
		set(t, a, "k", 1)
		set(t, b, "k", 2)
		assert.EqualValues(t, 2, timer.Pending(), "one timeout each")
		a.Close()
		assert.True(t, holds(b, "k", 2))
		assert.EqualValues(t, 1, timer.Pending())
	})
}

func TestCacheTakesOnePendingTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		timer := newTimer(t, hashedwheel.Options{MaxPendingTimeouts: 1})
		for _, limit := range []int{0, 1000} {
			c := newCache(t, options{Timer: timer, Limit: limit})
			for i := range 1000 {
				setFor(t, c, fmt.Sprint(i), i, time.Duration(1000-i)*time.Second)
			}
			assert.EqualValues(t, 1, timer.Pending())
			pass(500*time.Second + late)
			assert.Equal(t, 500, c.Len())
			pass(500 * time.Second)
			assert.Zero(t, c.Len())
			assert.Zero(t, timer.Pending())
			c.Close()
		}
	})
}

func TestCacheRunsOnEveryEngine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hierarchical, err := hierarchical.New(&hierarchical.Options{TickDuration: tick})
		require.NoError(t, err)
		defer hierarchical.Stop()
		runtimetimer, err := runtimetimer.New(nil)
		require.NoError(t, err)
		defer runtimetimer.Stop()
		for _, o := range []options{{Timer: hierarchical}, {Timer: runtimetimer}} {
			c := newCache(t, o)
			set(t, c, "a", 1)
			setFor(t, c, "b", 2, time.Second)
			pass(time.Second + late)
			assert.Equal(t, 1, c.Len())
			pass(time.Minute)
			assert.Zero(t, c.Len())
		}
	})
}

func TestClosedCacheIsEmpty(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, limit := range []int{0, 10} {
			c := newCache(t, options{Limit: limit})
			set(t, c, "a", 1)
			var closer io.Closer = c
			require.NoError(t, closer.Close())
			require.NoError(t, closer.Close())
			assert.False(t, has(c, "a"))
			assert.ErrorIs(t, c.Set("a", 2), cache.ErrClosed)
			_, err := c.SetIfAbsent("a", 2)
			assert.ErrorIs(t, err, cache.ErrClosed)
			_, err = c.GetOrFetch(t.Context(), "a", func(context.Context) (int, error) { t.Error("fetched"); return 0, nil })
			assert.ErrorIs(t, err, cache.ErrClosed)
			assert.False(t, c.Delete("a"))
			assert.False(t, c.Touch("a"))
			_, ok := c.TTL("a")
			assert.False(t, ok)
			c.Clear()
			for range c.All() {
				t.Error("an entry after Close")
			}
			assert.Zero(t, c.Len())
			pass(time.Hour)
		}
	})
}

func TestCloseFromWithinACallback(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var c *cache.Cache[string, int]
		var ends ends
		c = newCache(t, options{OnEvict: func(key string, value int, reason cache.Reason) {
			ends.add(key, value, reason)
			c.Close()
		}})
		setFor(t, c, "a", 1, time.Second)
		setFor(t, c, "b", 2, time.Minute)
		pass(time.Hour)
		assert.Equal(t, []end{{"a", 1, cache.ReasonExpired}, {"b", 2, cache.ReasonClosed}}, ends.take())
	})
}

func TestKeysUnequalToThemselvesAreRejected(t *testing.T) {
	c, err := cache.New[any, int](time.Minute, nil)
	require.NoError(t, err)
	defer c.Close()
	for _, key := range []any{math.NaN(), []int{1}} {
		assert.ErrorIs(t, c.Set(key, 1), cache.ErrInvalidKey)
		_, err := c.SetIfAbsent(key, 1)
		assert.ErrorIs(t, err, cache.ErrInvalidKey)
		_, err = c.GetOrFetch(t.Context(), key, fetched(1))
		assert.ErrorIs(t, err, cache.ErrInvalidKey)
		_, ok := c.Get(key)
		assert.False(t, ok)
		assert.False(t, c.Delete(key))
		assert.False(t, c.Touch(key))
		_, ok = c.TTL(key)
		assert.False(t, ok)
	}
}

func TestStringReturnsNameAndCount(t *testing.T) {
	c := newCache(t, options{Name: "users"})
	set(t, c, "a", 1)
	assert.Equal(t, "cache.Cache(users, 1 entries)", c.String())
}

func TestKeysOfAnyTypeAllocateNothing(t *testing.T) {
	t.Run("float", func(t *testing.T) { testKeyAllocatesNothing(t, 1.5) })
	t.Run("complex", func(t *testing.T) { testKeyAllocatesNothing(t, 1i) })
	t.Run("array", func(t *testing.T) { testKeyAllocatesNothing(t, [2]any{1000, "a"}) })
	t.Run("any", func(t *testing.T) { testKeyAllocatesNothing[any](t, 1000) })
}

func testKeyAllocatesNothing[K comparable](t *testing.T, key K) {
	c, err := cache.New[K, int](time.Hour, nil)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Set(key, 1))
	assert.Zero(t, testing.AllocsPerRun(100, func() { c.Get(key) }), "Get")
	assert.Zero(t, testing.AllocsPerRun(100, func() { c.TTL(key) }), "TTL")
	assert.Zero(t, testing.AllocsPerRun(100, func() { c.SetIfAbsent(key, 1) }), "SetIfAbsent")
}

func TestAllocations(t *testing.T) {
	for _, o := range []options{{}, {Limit: 10}, {ExactExpiry: true}, {Sliding: time.Hour}} {
		c := newCache(t, o)
		set(t, c, "a", 1)
		assert.Zero(t, testing.AllocsPerRun(1000, func() { c.Get("a") }), "Get with %+v", o)
		assert.Zero(t, testing.AllocsPerRun(1000, func() { c.Get("b") }), "Get of an unknown key with %+v", o)
		assert.EqualValues(t, 1, testing.AllocsPerRun(1000, func() { c.Set("a", 2) }), "Set with %+v", o)
		assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() { c.Set("b", 2); c.Delete("b") }), 1.1,
			"Set of a new key with %+v", o)
	}
}

// TestHeapOfAnEntry measures the map right after it has grown, when it is emptiest.
func TestHeapOfAnEntry(t *testing.T) {
	if testing.Short() {
		t.Skip("holds 20 MB")
	}
	for _, c := range []struct{ limit, most int }{{0, 110}, {200_000, 130}} {
		const n = 130_000
		before := heap()
		c1, err := cache.New(time.Hour, &cache.Options[int64, *int]{Limit: c.limit})
		require.NoError(t, err)
		value := new(int)
		for key := range int64(n) {
			require.NoError(t, c1.Set(key, value))
		}
		each := float64(heap()-before) / n
		assert.Less(t, each, float64(c.most), "bytes of heap per entry, limit %d", c.limit)
		t.Logf("%.1f bytes per entry, limit %d", each, c.limit)
		c1.Close()
	}
}

// TestRemovedEntryLeavesNoMemory needs the real heap.
func TestRemovedEntryLeavesNoMemory(t *testing.T) {
	const n = 30_000
	for _, o := range []cache.Options[int64, *int]{{}, {Limit: n}, {Sliding: time.Hour}} {
		for name, remove := range map[string]func(c *cache.Cache[int64, *int]){
			"Clear": func(c *cache.Cache[int64, *int]) { c.Clear() },
			"Delete": func(c *cache.Cache[int64, *int]) {
				for key := range int64(n) {
					c.Delete(key)
				}
			},
		} {
			c, err := cache.New(time.Hour, &o)
			require.NoError(t, err)
			before := heap()
			for key := range int64(n) {
				require.NoError(t, c.Set(key, nil))
			}
			remove(c)
			assert.Less(t, float64(heap()-before)/n, 4.0, "bytes of heap per removed entry, %s, limit %d, sliding %v", name, o.Limit, o.Sliding)
			c.Close()
		}
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
