package cache_test

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cache"
)

func TestDeleteFuncDeletesTheEntriesThatMatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var e ends
		c := newCache(t, options{OnEvict: e.add})
		set(t, c, "tea/green", 1)
		set(t, c, "tea/black", 2)
		set(t, c, "cake", 3)
		n := c.DeleteFunc(func(key string, value int) bool {
			assert.True(t, holds(c, key, value))
			return strings.HasPrefix(key, "tea/")
		})
		assert.Equal(t, 2, n)
		assert.ElementsMatch(t, []end{{"tea/green", 1, cache.ReasonDeleted}, {"tea/black", 2, cache.ReasonDeleted}}, e.take())
		assert.Equal(t, 1, c.Len())
		assert.True(t, holds(c, "cake", 3))
	})
}

func TestDeleteFuncKeepsAValueSetMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, o := range []options{{}, {Limit: 1}, {Sliding: time.Hour}, {ExactExpiry: true}} {
			c := newCache(t, o)
			setFor(t, c, "a", 1, cache.NoExpiry)
			n := c.DeleteFunc(func(key string, value int) bool {
				setFor(t, c, "a", 2, cache.NoExpiry)
				return true
			})
			assert.Zero(t, n)
			assert.True(t, holds(c, "a", 2), "%+v", o)
			n = c.DeleteFunc(func(key string, value int) bool {
				assert.True(t, c.Touch("a"))
				return true
			})
			assert.Equal(t, 1, n, "Touch changes no value")
			assert.Zero(t, c.Len())
		}
	})
}

func TestDeleteFuncOvertakesAFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		go c.GetOrFetch(t.Context(), "a", slowly(1))
		synctest.Wait()
		c.DeleteFunc(func(string, int) bool { return true })
		pass(2 * time.Second)
		assert.Zero(t, c.Len())
	})
}

func TestDeleteFuncDoesNotSeeExpiredEntries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{ExactExpiry: true})
		set(t, c, "a", 1)
		set(t, c, "b", 2)
		time.Sleep(time.Minute - time.Second)
		set(t, c, "b", 2)
		n := c.DeleteFunc(func(key string, _ int) bool {
			time.Sleep(2 * time.Second)
			return key == "a"
		})
		assert.Zero(t, n, "the entry expired before the function returned")
		time.Sleep(time.Hour)
		c.DeleteFunc(func(string, int) bool {
			t.Error("called for an expired entry")
			return true
		})
	})
}

func TestOnEvictThatEndsItsGoroutineIsCalledForAll(t *testing.T) {
	for name, end := range map[string]func(*cache.Cache[string, int]){
		"Clear": (*cache.Cache[string, int]).Clear,
		"Close": func(c *cache.Cache[string, int]) { c.Close() },
	} {
		bubble(t, func(t *testing.T) {
			var e ends
			c := newCache(t, options{
				OnEvict: func(key string, value int, reason cache.Reason) {
					e.add(key, value, reason)
					runtime.Goexit()
				},
				Logger: slog.New(slog.DiscardHandler),
			})
			for i := range 100 {
				set(t, c, fmt.Sprint(i), i)
			}
			go end(c)
			synctest.Wait()
			seen := make(map[string]int)
			for _, end := range e.take() {
				seen[end.key]++
				require.Equal(t, 1, seen[end.key], name)
			}
			assert.Len(t, seen, 100, name)
			assert.Zero(t, c.Len())
		})
	}
}

func TestPanicInDeleteFuncReachesItsCaller(t *testing.T) {
	c := newCache(t, options{})
	set(t, c, "a", 1)
	assert.PanicsWithValue(t, "broken", func() { c.DeleteFunc(func(string, int) bool { panic("broken") }) })
	set(t, c, "a", 2) // the lock is free
}
