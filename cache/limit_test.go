package cache_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/internal/timertest"
)

func TestTheLongestUnusedEntryGoes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		c := newCache(t, cache.WithLimit(3), cache.WithOnEvict(func(key string, value int) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprint(key, value))
		}))
		tell := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(told)
		}
		for i, key := range []string{"a", "b", "c"} {
			require.NoError(t, c.Set(key, i))
		}
		assert.True(t, holds(c, "a", 0))   // used
		require.NoError(t, c.Set("b", 10)) // used
		require.NoError(t, c.Set("d", 3))
		assert.Equal(t, []string{"c2"}, tell())
		assert.False(t, has(c, "c"))
		value, err := c.Take("a", unexpected)
		require.NoError(t, err)
		assert.Zero(t, value)
		require.NoError(t, c.Set("e", 4))
		assert.Equal(t, []string{"c2", "b10"}, tell())
		assert.Equal(t, 3, c.Len())
		assert.EqualValues(t, 2, c.Stats().Evictions)
		pass(time.Hour)
		assert.ElementsMatch(t, []string{"c2", "b10", "a0", "d3", "e4"}, tell(), "expired ones are told as well")
		assert.Equal(t, cache.Stats{Hits: 2, Misses: 1, Evictions: 2, Expirations: 3}, c.Stats())
	})
}

// unexpected is a fetch that should not be called.
func unexpected() (int, error) { return 0, fmt.Errorf("fetched") }

func TestAnExpiredEntryMakesRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, cache.WithLimit(2))
		require.NoError(t, c.Set("a", 1))
		require.NoError(t, c.SetWithExpire("b", 2, time.Second))
		pass(2 * time.Second)
		require.NoError(t, c.Set("c", 3))
		assert.True(t, holds(c, "a", 1), "the oldest stays, since there is room")
		assert.Zero(t, c.Stats().Evictions)
	})
}

func TestOnEvictMayUseTheCache(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var c *cache.Cache[string, int]
		c = newCache(t, cache.WithLimit(1), cache.WithOnEvict(func(key string, value int) {
			if value < 5 {
				assert.NoError(t, c.Set(key+"'", value+1))
			}
			c.Del("x")
			c.Len()
		}))
		require.NoError(t, c.Set("a", 1))
		require.NoError(t, c.Set("b", 1))
		assert.Equal(t, 1, c.Len())
	})
}

func TestAPanicOfOnEvictIsIsolated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var logged bytes.Buffer
		defer slog.SetDefault(slog.Default())
		slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
		c := newCache(t, cache.WithLimit(1), cache.WithOnEvict(func(string, int) { panic("broken") }))
		assert.NotPanics(t, func() {
			require.NoError(t, c.Set("a", 1))
			require.NoError(t, c.Set("b", 2))
			_, err := c.Take("c", func() (int, error) { return 3, nil })
			require.NoError(t, err)
		})
		pass(time.Hour)
		assert.Zero(t, c.Len())
		assert.Equal(t, 2, strings.Count(logged.String(), "WithOnEvict's function panicked"), "evicted")
		assert.Equal(t, 1, strings.Count(logged.String(), "task failed"), "expired")
	})
}

// TestEveryOperationInEveryOrder compares the cache with the simplest thing that
// behaves like it: a slice of entries, the longest unused first.
func TestEveryOperationInEveryOrder(t *testing.T) {
	type entry struct {
		key      string
		value    int
		deadline time.Time
	}
	for i, limit := range []int{0, 0, 1, 3} {
		exact := i%2 == 1
		timertest.Bubble(t, func(t *testing.T) {
			rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
				options := []cache.Option{cache.WithJitter(0)}
				if exact {
					options = append(options, cache.WithExactExpiry())
				}
				if limit > 0 {
					options = append(options, cache.WithLimit(limit))
				}
				c, err := cache.New[string, int](time.Minute, options...)
				require.NoError(rt, err)
				defer c.Close()
				time.Sleep(50 * time.Millisecond) // between two ticks, where every step is
				var all []entry
				values := 0
				at := func(key string) int {
					return slices.IndexFunc(all, func(e entry) bool { return e.key == key })
				}
				drop := func(i int) {
					if i >= 0 {
						all = slices.Delete(all, i, i+1)
					}
				}
				use := func(i int) {
					e := all[i]
					drop(i)
					all = append(all, e)
				}
				set := func(key string, value int, expire time.Duration) {
					drop(at(key))
					if expire <= 0 {
						return
					}
					all = append(all, entry{key, value, time.Now().Add(expire)})
					if limit > 0 && len(all) > limit {
						drop(0)
					}
				}
				alive := func(i int) bool {
					return i >= 0 && (!exact || all[i].deadline.After(time.Now()))
				}
				key := rapid.StringMatching("[a-e]")
				expire := rapid.SampledFrom([]time.Duration{0, time.Second, 20 * time.Second, time.Minute})
				rt.Repeat(map[string]func(*rapid.T){
					"set": func(rt *rapid.T) {
						k, e := key.Draw(rt, "key"), expire.Draw(rt, "expire")
						values++
						require.NoError(rt, c.SetWithExpire(k, values, e))
						set(k, values, e)
					},
					"del": func(rt *rapid.T) {
						k := key.Draw(rt, "key")
						c.Del(k)
						drop(at(k))
					},
					"get": func(rt *rapid.T) {
						k := key.Draw(rt, "key")
						value, ok := c.Get(k)
						i := at(k)
						require.Equal(rt, alive(i), ok)
						if ok {
							require.Equal(rt, all[i].value, value)
							use(i)
						}
					},
					"take": func(rt *rapid.T) {
						k := key.Draw(rt, "key")
						values++
						value, err := c.Take(k, func() (int, error) { return values, nil })
						require.NoError(rt, err)
						if i := at(k); alive(i) {
							require.Equal(rt, all[i].value, value)
							use(i)
							return
						}
						require.Equal(rt, values, value)
						set(k, values, time.Minute)
					},
					"pass": func(rt *rapid.T) {
						pass(expire.Draw(rt, "pass") + time.Second/2)
						// What is over just now has to wait for its tick.
						all = slices.DeleteFunc(all, func(e entry) bool { return e.deadline.Before(time.Now()) })
					},
					"": func(rt *rapid.T) { require.Equal(rt, len(all), c.Len(), "%v", all) },
				})
			})
		})
	}
}

func TestTheLimitHoldsWhenAllComeAtOnce(t *testing.T) {
	const limit = 10
	timer := newTimer(t)
	c := newCache(t, cache.WithTimer(timer), cache.WithLimit(limit))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 2000 {
				key := strconv.Itoa(rand.N(100))
				switch i % 5 {
				case 0, 1:
					assert.NoError(t, c.SetWithExpire(key, i, rand.N(3*tick)))
				case 2:
					c.Get(key)
				case 3:
					c.Take(key, func() (int, error) { return i, nil })
				case 4:
					c.Del(key)
				}
				if n := c.Len(); n > limit {
					t.Errorf("%d entries", n)
				}
			}
		})
	}
	all.Wait()
	// Len never exceeds the limit, so that the timer is asked: what it holds is
	// what the cache holds, once no task is about to take an entry out.
	assert.LessOrEqual(t, timer.Pending(), int64(limit))
	assert.Eventually(t, func() bool { return int64(c.Len()) == timer.Pending() }, time.Minute, tick)
	for i := range 2 * limit {
		require.NoError(t, c.Set("new"+strconv.Itoa(i), i))
	}
	assert.Equal(t, limit, c.Len(), "no room was lost")
	assert.EqualValues(t, limit, timer.Pending(), "none too many")
	for i := range limit {
		assert.True(t, holds(c, "new"+strconv.Itoa(limit+i), limit+i), "the newest are there")
	}
}
