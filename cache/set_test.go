package cache_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cache"
)

func TestGetAndDeleteReturnsTheRemovedValue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, o := range []options{{}, {Limit: 2}, {Sliding: time.Hour}, {ExactExpiry: true}} {
			var ends ends
			o.OnEvict = ends.add
			c := newCache(t, o)
			set(t, c, "a", 1)
			value, ok := c.GetAndDelete("a")
			assert.True(t, ok)
			assert.Equal(t, 1, value)
			assert.False(t, c.Delete("a"))
			set(t, c, "b", 2)
			assert.True(t, c.Delete("b"))
			_, ok = c.GetAndDelete("b")
			assert.False(t, ok)
			assert.False(t, has(c, "a"))
			assert.Zero(t, c.Len())
			pass(time.Hour)
			assert.Zero(t, c.Stats().Expirations)
			assert.Equal(t, []end{{"a", 1, cache.ReasonDeleted}, {"b", 2, cache.ReasonDeleted}}, ends.take())
		}
	})
}

func TestSetIfAbsentSetsOnlyAKeyWithoutAnEntry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, o := range []options{{}, {Limit: 2}, {Sliding: time.Hour}, {ExactExpiry: true}} {
			c := newCache(t, o)
			ok, err := c.SetIfAbsent("a", 1)
			require.NoError(t, err)
			assert.True(t, ok)
			pass(30 * time.Second)
			ok, err = c.SetIfAbsent("a", 2)
			require.NoError(t, err)
			assert.False(t, ok)
			assert.True(t, holds(c, "a", 1))
			time.Sleep(30 * time.Second) // expired; with ExactExpiry the tick may not have come
			pass(0)
			if o.ExactExpiry || o.Sliding > 0 {
				ok, err = c.SetIfAbsent("a", 3)
				require.NoError(t, err)
				assert.True(t, ok, "it has expired")
			}
		}
	})
}

func TestOneOfSeveralRacingSetIfAbsentsSets(t *testing.T) {
	onProcs(func() {
		c := newCache(t, options{})
		const keys = 500
		won := make([]atomic.Int64, keys)
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				for key := range keys {
					if ok, err := c.SetIfAbsent(fmt.Sprint(key), g); assert.NoError(t, err) && ok {
						won[key].Add(1)
					}
				}
			})
		}
		all.Wait()
		for key := range won {
			assert.EqualValues(t, 1, won[key].Load())
		}
	})
}

func TestTouchStartsTheTTLAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, o := range []options{{}, {ExactExpiry: true}, {Limit: 2}} {
			c := newCache(t, o)
			set(t, c, "a", 1)
			pass(50 * time.Second)
			assert.True(t, c.Touch("a"))
			pass(50 * time.Second)
			assert.True(t, holds(c, "a", 1))
			pass(11 * time.Second)
			assert.False(t, has(c, "a"))
			assert.Zero(t, c.Len())
			assert.False(t, c.Touch("a"), "expired")
			assert.False(t, c.Touch("b"), "unknown")
			assert.EqualValues(t, 1, c.Stats().Expirations)
			setFor(t, c, "b", 1, time.Hour)
			assert.True(t, c.Touch("b"))
			pass(time.Minute + 200*time.Millisecond)
			assert.False(t, has(c, "b"), "a Touch may shorten the time, too")
		}
	})
}

func TestTouchRevivesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{ExactExpiry: true, Timer: newTimer(t)})
		set(t, c, "deleted", 1)
		c.Delete("deleted")
		assert.False(t, c.Touch("deleted"))
		assert.False(t, has(c, "deleted"))

		set(t, c, "over", 1)
		time.Sleep(time.Minute) // the TTL has passed, but the tick has not come
		assert.False(t, c.Touch("over"))
		assert.False(t, has(c, "over"))
	})
}

func TestAllYieldsTheEntriesAndMayChangeThem(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		want := map[string]int{}
		for i := range 1000 {
			set(t, c, fmt.Sprint(i), i)
			want[fmt.Sprint(i)] = i
		}
		assert.Equal(t, want, maps.Collect(c.All()))
		for key := range c.All() {
			c.Delete(key)
			break
		}
		assert.Equal(t, 999, c.Len())
		for key := range c.All() {
			c.Delete(key)
		}
		assert.Zero(t, c.Len())
		assert.Equal(t, cache.Stats{}, c.Stats(), "All does not count as a lookup")
	})
}

func TestClearRemovesEverything(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, limit := range []int{0, 100} {
			var ends ends
			c := newCache(t, options{Limit: limit, OnEvict: ends.add})
			for i := range 50 {
				set(t, c, fmt.Sprint(i), i)
			}
			c.Clear()
			assert.Zero(t, c.Len())
			all := ends.take()
			assert.Len(t, all, 50)
			for _, e := range all {
				assert.Equal(t, cache.ReasonDeleted, e.reason)
			}
			set(t, c, "a", 1)
			pass(2 * time.Minute)
			assert.Equal(t, []end{{"a", 1, cache.ReasonExpired}}, ends.take())
		}
	})
}

func TestEachReasonIsReported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var ends ends
		c := newCache(t, options{Limit: 2, OnEvict: ends.add})
		set(t, c, "a", 1)
		set(t, c, "a", 2)
		assert.Equal(t, []end{{"a", 1, cache.ReasonReplaced}}, ends.take())
		c.Delete("a")
		assert.Equal(t, []end{{"a", 2, cache.ReasonDeleted}}, ends.take())
		set(t, c, "b", 3)
		set(t, c, "c", 4)
		set(t, c, "d", 5)
		assert.Equal(t, []end{{"b", 3, cache.ReasonCapacity}}, ends.take())
		pass(30 * time.Second)
		set(t, c, "d", 6)
		assert.Equal(t, []end{{"d", 5, cache.ReasonReplaced}}, ends.take())
		pass(31 * time.Second)
		assert.Equal(t, []end{{"c", 4, cache.ReasonExpired}}, ends.take())
		c.Close()
		assert.Equal(t, []end{{"d", 6, cache.ReasonClosed}}, ends.take())
		assert.Equal(t, cache.Stats{Evictions: 1, Expirations: 1}, c.Stats())
	})
}

func TestReasonsHaveNames(t *testing.T) {
	var names []string
	for r := range cache.ReasonClosed + 2 {
		names = append(names, r.String())
	}
	assert.Equal(t, []string{"Reason(0)", "expired", "capacity", "deleted", "replaced", "closed", "Reason(6)"}, names)
}

func TestOnEvictMayUseTheCache(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var c *cache.Cache[string, int]
		c = newCache(t, options{Limit: 1, OnEvict: func(key string, value int, reason cache.Reason) {
			if value < 5 && reason == cache.ReasonCapacity {
				assert.NoError(t, c.Set(key+"'", value+1))
			}
			c.Delete("x")
			c.Len()
		}})
		set(t, c, "a", 1)
		set(t, c, "b", 1)
		assert.Equal(t, 1, c.Len())
		pass(time.Hour)
		assert.Zero(t, c.Len())
	})
}

func TestPanicOfOnEvictIsIsolated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var logged bytes.Buffer
		c := newCache(t, options{
			Limit:   2,
			Logger:  slog.New(slog.NewTextHandler(&logged, nil)),
			OnEvict: func(string, int, cache.Reason) { panic("broken") },
		})
		assert.NotPanics(t, func() {
			set(t, c, "a", 1)
			set(t, c, "b", 2)
			_, err := c.GetOrFetch(t.Context(), "c", fetched(3))
			require.NoError(t, err)
		})
		pass(time.Hour)
		assert.Zero(t, c.Len())
		assert.Equal(t, 1, strings.Count(logged.String(), "reason=capacity"))
		assert.Equal(t, 2, strings.Count(logged.String(), "reason=expired"), "one panic does not prevent the others")
		assert.Contains(t, logged.String(), "set_test.go", "the stack shows the callback")
	})
}

func TestOnEvictThatEndsItsGoroutineStopsNoExpiry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{
			Timer:   newTimer(t),
			Logger:  slog.New(slog.DiscardHandler),
			OnEvict: func(string, int, cache.Reason) { runtime.Goexit() },
		})
		for i := range 5 {
			set(t, c, fmt.Sprint(i), i)
		}
		pass(time.Minute + 6*late)
		assert.Zero(t, c.Len())
	})
}
