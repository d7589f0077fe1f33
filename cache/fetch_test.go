package cache_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cache"
)

// slowly returns a fetch of value that takes a second.
func slowly(value int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		time.Sleep(time.Second)
		return value, nil
	}
}

// fetching is a fetch that ends early if its context does.
type fetching struct {
	takes           time.Duration
	calls, canceled atomic.Int64
}

func (f *fetching) fetch(ctx context.Context) (int, error) {
	f.calls.Add(1)
	select {
	case <-time.After(f.takes):
		return 7, nil
	case <-ctx.Done():
		f.canceled.Add(1)
		return 0, ctx.Err()
	}
}

func TestConcurrentCallersShareOneFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		f := &fetching{takes: time.Second}
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				value, err := c.GetOrFetch(t.Context(), "a", f.fetch)
				assert.NoError(t, err)
				assert.Equal(t, 7, value)
			})
		}
		all.Wait()
		assert.EqualValues(t, 1, f.calls.Load())
		value, err := c.GetOrFetch(t.Context(), "a", unexpected)
		assert.NoError(t, err)
		assert.Equal(t, 7, value)
		assert.Equal(t, cache.Stats{Hits: 1, Misses: 100}, c.Stats())
		pass(time.Minute + 200*time.Millisecond)
		assert.False(t, has(c, "a"), "a fetched entry expires")
	})
}

func TestErrorIsReturnedToAllCallersAndNotStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		broken := errors.New("broken")
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				_, err := c.GetOrFetch(t.Context(), "a", func(context.Context) (int, error) {
					time.Sleep(time.Second)
					return 0, broken
				})
				assert.ErrorIs(t, err, broken)
			})
		}
		all.Wait()
		assert.Zero(t, c.Len())
		value, err := c.GetOrFetch(t.Context(), "a", slowly(1))
		assert.NoError(t, err)
		assert.Equal(t, 1, value)
	})
}

func TestFetchDoesNotBlockOtherKeys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{Limit: 10}) // makes all keys share a stripe
		go c.GetOrFetch(t.Context(), "a", slowly(1))
		synctest.Wait()
		start := time.Now()
		require.NoError(t, c.Set("b", 2))
		_, err := c.GetOrFetch(t.Context(), "c", fetched(3))
		require.NoError(t, err)
		c.Delete("b")
		assert.Zero(t, time.Since(start))
		pass(time.Minute)
	})
}

func TestGetOrFetchReplacesAnExpiredEntry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{ExactExpiry: true})
		require.NoError(t, c.Set("a", 1))
		time.Sleep(time.Minute) // the TTL has passed, but the tick has not come
		value, err := c.GetOrFetch(t.Context(), "a", fetched(2))
		require.NoError(t, err)
		assert.Equal(t, 2, value)
		pass(time.Second)
		assert.True(t, holds(c, "a", 2))
	})
}

func TestRecursiveFetchIsAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		var recurse func(keys ...string) func(context.Context) (int, error)
		recurse = func(keys ...string) func(context.Context) (int, error) {
			return func(ctx context.Context) (int, error) {
				if len(keys) == 0 {
					return 1, nil
				}
				return c.GetOrFetch(ctx, keys[0], recurse(keys[1:]...))
			}
		}
		for _, keys := range [][]string{{"a", "a"}, {"a", "b", "a"}, {"a", "b", "c", "b"}} {
			_, err := c.GetOrFetch(t.Context(), keys[0], recurse(keys[1:]...))
			assert.ErrorIs(t, err, cache.ErrRecursion, "%v", keys)
			for _, key := range keys {
				value, err := c.GetOrFetch(t.Context(), key, fetched(2))
				assert.NoError(t, err, "%v: key %s is usable", keys, key)
				assert.Equal(t, 2, value)
			}
			c.Clear()
		}
		_, err := c.GetOrFetch(t.Context(), "a", recurse("b", "c"))
		assert.NoError(t, err, "other keys are no recursion")
	})
}

func TestBrokenFetchIsAnErrorForAllCallers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		for want, breaks := range map[any]func(){
			"broken": func() { panic("broken") },
			nil:      runtime.Goexit,
		} {
			var errs [2]error
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() {
					_, errs[i] = c.GetOrFetch(t.Context(), "a", func(context.Context) (int, error) {
						time.Sleep(time.Second)
						breaks()
						return 0, nil
					})
				})
			}
			all.Wait()
			for _, err := range errs {
				if want == nil {
					assert.ErrorIs(t, err, hwt.ErrGoexit)
					continue
				}
				var cause *hwt.PanicError
				require.ErrorAs(t, err, &cause)
				assert.Equal(t, want, cause.Value)
				assert.Contains(t, string(cause.Stack), "fetch_test.go", "the stack shows the fetch")
				assert.ErrorContains(t, err, "cache: fetch: ")
			}
		}
	})
}

func TestFetchEndsIfOnEvictEndsItsGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{
			Limit: 1,
			OnEvict: func(_ string, _ int, reason cache.Reason) {
				if reason == cache.ReasonCapacity {
					runtime.Goexit()
				}
			},
			Logger: slog.New(slog.DiscardHandler),
		})
		set(t, c, "a", 1)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				value, err := c.GetOrFetch(t.Context(), "b", slowly(2))
				assert.NoError(t, err)
				assert.Equal(t, 2, value)
			})
		}
		all.Wait()
		assert.True(t, holds(c, "b", 2))
		assert.Equal(t, 1, c.Len())
	})
}

func TestFetchWithTTLStoresForItsTTL(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		take := func(key string, ttl time.Duration) {
			value, err := c.GetOrFetchWithTTL(t.Context(), key, func(context.Context) (int, time.Duration, error) { return 1, ttl, nil })
			require.NoError(t, err)
			assert.Equal(t, 1, value)
		}
		take("absent", time.Second)
		take("present", time.Hour)
		take("for good", cache.NoExpiry)
		take("not at all", 0)
		assert.Equal(t, 3, c.Len())
		pass(2 * time.Second)
		assert.False(t, has(c, "absent"))
		pass(2 * time.Hour)
		assert.False(t, has(c, "present"))
		assert.True(t, has(c, "for good"))
	})
}

func TestNilFetchIsAnError(t *testing.T) {
	c := newCache(t, options{})
	_, err := c.GetOrFetch(t.Context(), "a", nil)
	assert.EqualError(t, err, "cache: GetOrFetch: fetch is nil (expected: a function)")
	_, err = c.GetOrFetchWithTTL(t.Context(), "a", nil)
	assert.EqualError(t, err, "cache: GetOrFetchWithTTL: fetch is nil (expected: a function)")
	c.Close()
	_, err = c.GetOrFetch(t.Context(), "a", unexpected)
	assert.ErrorIs(t, err, cache.ErrClosed)
}
