package cache_test

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/hashedwheel"
)

func TestAnEntryIsFoundUntilItsTimeIsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, cache.WithTimer(newTimer(t)))
		require.NoError(t, c.Set("a", 1))
		assert.True(t, holds(c, "a", 1))
		pass(time.Minute - 1)
		assert.True(t, holds(c, "a", 1))
		pass(tick + 1)
		assert.False(t, has(c, "a"), "to the tick")
		assert.Zero(t, c.Len())
		assert.Equal(t, cache.Stats{Hits: 2, Misses: 1, Expirations: 1}, c.Stats())
	})
}

func TestExactExpiryIsRightToTheNanosecond(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, cache.WithExactExpiry())
		require.NoError(t, c.Set("a", 1))
		pass(time.Minute - 1)
		assert.True(t, holds(c, "a", 1))
		pass(1)
		assert.False(t, has(c, "a"))
		pass(time.Second)
		assert.Zero(t, c.Len())
	})
}

func TestExactExpiryNeedsNoTimer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		timer := newTimer(t)
		c := newCache(t, cache.WithTimer(timer), cache.WithExactExpiry())
		require.NoError(t, c.Set("a", 1))
		timer.Stop() // nothing will remove the entry
		pass(time.Hour)
		assert.False(t, has(c, "a"))
	})
}

func TestSetGivesANewTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t)
		require.NoError(t, c.Set("a", 1))
		pass(50 * time.Second)
		require.NoError(t, c.Set("a", 2))
		pass(50 * time.Second)
		assert.True(t, holds(c, "a", 2))
		require.NoError(t, c.SetWithExpire("a", 3, time.Second))
		pass(time.Second)
		assert.False(t, has(c, "a"))
		pass(time.Hour)
		assert.EqualValues(t, 1, c.Stats().Expirations, "a replaced entry does not expire")
	})
}

func TestDelRemoves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		timer := newTimer(t)
		for _, option := range []cache.Option{cache.WithName("unlimited"), cache.WithLimit(2)} {
			c := newCache(t, cache.WithTimer(timer), option)
			require.NoError(t, c.Set("a", 1))
			c.Del("a")
			c.Del("a")
			c.Del("b")
			assert.False(t, has(c, "a"))
			assert.Zero(t, c.Len())
			assert.Zero(t, timer.Pending())
			pass(time.Hour)
			assert.Zero(t, c.Stats().Expirations)
		}
	})
}

func TestATimeOfZeroOrLessIsOverAlready(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, expire := range []time.Duration{0, -1, math.MinInt64} {
			for _, option := range []cache.Option{cache.WithName("unlimited"), cache.WithLimit(2)} {
				c := newCache(t, option)
				require.NoError(t, c.Set("a", 1))
				require.NoError(t, c.SetWithExpire("a", 2, expire))
				require.NoError(t, c.SetWithExpire("b", 2, expire))
				assert.Zero(t, c.Len())
				assert.False(t, has(c, "a") || has(c, "b"))
				c.Close()
				assert.ErrorIs(t, c.SetWithExpire("a", 2, expire), cache.ErrClosed)
			}
		}
	})
}

func TestTheLongestTimeDoesNotOverflow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		pass(time.Hour)
		c := newCache(t, cache.WithJitter(0.5), cache.WithExactExpiry())
		for i := range 100 {
			require.NoError(t, c.SetWithExpire(fmt.Sprint(i), i, math.MaxInt64))
		}
		pass(24 * time.Hour)
		for i := range 100 {
			assert.True(t, holds(c, fmt.Sprint(i), i))
		}
	})
}

func TestJitterSpreadsExpiryToBothSides(t *testing.T) {
	for _, jitter := range []float64{0, cache.DefaultJitter, 0.5} {
		bubble(t, func(t *testing.T) {
			const n = 1000
			var expired []time.Duration
			start := time.Now()
			options := []cache.Option{cache.WithTimer(newTimer(t)), cache.WithOnEvict(func(string, int) {
				expired = append(expired, time.Since(start)) // on the worker, one at a time
			})}
			if jitter != cache.DefaultJitter {
				options = append(options, cache.WithJitter(jitter))
			}
			c, err := cache.New[string, int](100*time.Second, options...)
			require.NoError(t, err)
			for i := range n {
				require.NoError(t, c.Set(fmt.Sprint(i), i))
			}
			pass(time.Hour)
			require.Len(t, expired, n)
			width := time.Duration(jitter * float64(100*time.Second))
			first, last := expired[0], expired[n-1]
			assert.GreaterOrEqual(t, first, 100*time.Second-width)
			assert.LessOrEqual(t, last, 100*time.Second+width+tick)
			assert.LessOrEqual(t, first, 100*time.Second-width*9/10+tick, "the spread is used")
			assert.GreaterOrEqual(t, last, 100*time.Second+width*9/10, "the spread is used")
			c.Close()
		})
	}
}

func TestACacheHasAWheelOfItsOwnOrSharesOne(t *testing.T) {
	bubble(t, func(t *testing.T) { // which fails if a goroutine is left
		own := newCache(t)
		require.NoError(t, own.Set("a", 1))
		own.Close()

		timer := newTimer(t)
		a, b := newCache(t, cache.WithTimer(timer)), newCache(t, cache.WithTimer(timer))
		require.NoError(t, a.Set("k", 1))
		require.NoError(t, b.Set("k", 2))
		a.Close()
		assert.True(t, holds(b, "k", 2))
		assert.EqualValues(t, 1, timer.Pending())
	})
}

func TestAfterCloseThereIsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, option := range []cache.Option{cache.WithName("unlimited"), cache.WithLimit(10)} {
			c := newCache(t, option, cache.WithOnEvict(func(string, int) { t.Error("told") }))
			require.NoError(t, c.Set("a", 1))
			c.Close()
			c.Close()
			assert.False(t, has(c, "a"))
			assert.ErrorIs(t, c.Set("a", 2), cache.ErrClosed)
			_, err := c.Take("a", func() (int, error) { t.Error("fetched"); return 0, nil })
			assert.ErrorIs(t, err, cache.ErrClosed)
			c.Del("a")
			assert.Zero(t, c.Len())
			pass(time.Hour)
		}
	})
}

func TestCloseFromInsideACallback(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var c *cache.Cache[string, int]
		told := 0
		c = newCache(t, cache.WithOnEvict(func(string, int) { told++; c.Close() }))
		require.NoError(t, c.SetWithExpire("a", 1, time.Second))
		require.NoError(t, c.SetWithExpire("b", 2, time.Minute))
		pass(time.Hour)
		assert.Equal(t, 1, told)
	})
}

func TestTheTimersErrorsLeaveTheCacheAsItWas(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, option := range []cache.Option{cache.WithName("unlimited"), cache.WithLimit(2)} {
			timer := newTimer(t, hashedwheel.WithMaxPendingTimeouts(2))
			c := newCache(t, cache.WithTimer(timer), option)
			require.NoError(t, c.Set("a", 1))
			require.NoError(t, c.Set("b", 2))
			assert.ErrorIs(t, c.Set("c", 3), hwt.ErrTooManyPending)
			value, err := c.Take("d", func() (int, error) { return 4, nil })
			assert.NoError(t, err, "the value is there, if not in the cache")
			assert.Equal(t, 4, value)
			assert.True(t, holds(c, "a", 1) && holds(c, "b", 2))
			assert.Equal(t, 2, c.Len())
		}
	})
}

func TestNewRefusesWhatItCannotUse(t *testing.T) {
	_, err := cache.New[string, int](0)
	assert.EqualError(t, err, "cache: New: expire is 0s (expected: > 0)")
	for _, c := range []struct {
		option cache.Option
		want   string
	}{
		{nil, "cache: New: option 0 is nil (expected: a With function's result)"},
		{cache.WithLimit(0), "cache: WithLimit: 0 (expected: >= 1)"},
		{cache.WithJitter(1), "cache: WithJitter: 1 (expected: 0 <= jitter < 1)"},
		{cache.WithJitter(-0.1), "cache: WithJitter: -0.1 (expected: 0 <= jitter < 1)"},
		{cache.WithJitter(math.NaN()), "cache: WithJitter: NaN (expected: 0 <= jitter < 1)"},
		{cache.WithTimer(nil), "cache: WithTimer: nil (expected: a timer)"},
		{cache.WithTimer((*hashedwheel.Timer)(nil)), "cache: WithTimer: nil (expected: a timer)"},
		{cache.WithName(""), `cache: WithName: "" (expected: a name)`},
		{cache.WithOnEvict[string, int](nil), "cache: WithOnEvict: nil (expected: a function)"},
		{
			cache.WithOnEvict(func(int, string) {}),
			"cache: WithOnEvict: func(int, string) (expected: func(string, int))",
		},
	} {
		_, err := cache.New[string, int](time.Minute, c.option)
		assert.EqualError(t, err, c.want)
	}
}

func TestKeysThatCannotBeFoundAreRefused(t *testing.T) {
	c, err := cache.New[any, int](time.Minute)
	require.NoError(t, err)
	defer c.Close()
	for _, key := range []any{math.NaN(), []int{1}} {
		assert.ErrorIs(t, c.Set(key, 1), cache.ErrKey)
		_, err := c.Take(key, func() (int, error) { return 1, nil })
		assert.ErrorIs(t, err, cache.ErrKey)
		_, ok := c.Get(key)
		assert.False(t, ok)
		c.Del(key)
	}
}

func TestAFoundEntryCostsNoAllocation(t *testing.T) {
	for _, option := range []cache.Option{cache.WithName("unlimited"), cache.WithLimit(10)} {
		c := newCache(t, option)
		require.NoError(t, c.Set("a", 1))
		assert.Zero(t, testing.AllocsPerRun(1000, func() { c.Get("a") }))
	}
}

// TestASetRacingADelLeavesNoEntryWithoutATimeout runs on the real clock, for the
// races.
func TestASetRacingADelLeavesNoEntryWithoutATimeout(t *testing.T) {
	for _, option := range []cache.Option{cache.WithName("unlimited"), cache.WithLimit(5)} {
		timer := newTimer(t)
		c := newCache(t, cache.WithTimer(timer), option)
		var all sync.WaitGroup
		for g := range 8 {
			all.Go(func() {
				for i := range 3000 {
					key := fmt.Sprint(i % 7)
					switch (g + i) % 4 {
					case 0, 1:
						assert.NoError(t, c.SetWithExpire(key, i, time.Duration(i%4)*4*time.Millisecond))
					case 2:
						c.Del(key)
					case 3:
						c.Take(key, func() (int, error) { return i, nil })
					}
				}
			})
		}
		all.Wait()
		assert.Eventually(t, func() bool { return int64(c.Len()) == timer.Pending() }, 5*time.Second, tick,
			"entries and timeouts are the same")
		for i := range 7 {
			if has(c, fmt.Sprint(i)) { // a fetched one, for a minute
				assert.NoError(t, c.SetWithExpire(fmt.Sprint(i), i, 0))
			}
		}
		assert.Eventually(t, func() bool { return c.Len() == 0 && timer.Pending() == 0 }, 5*time.Second, tick)
	}
}

func TestStringNamesTheCache(t *testing.T) {
	c := newCache(t, cache.WithName("users"))
	require.NoError(t, c.Set("a", 1))
	assert.Equal(t, "cache.Cache(users, 1 entries)", c.String())
}
