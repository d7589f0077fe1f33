package cache_test

import (
	"errors"
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
	"github.com/hashedwheel/hwt/hashedwheel"
)

// slowly is a fetch that takes a second of fake time.
func slowly(value int) func() (int, error) {
	return func() (int, error) {
		time.Sleep(time.Second)
		return value, nil
	}
}

func TestTakeFetchesOnceForAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t)
		var fetched atomic.Int64
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				value, err := c.Take("a", func() (int, error) {
					fetched.Add(1)
					time.Sleep(time.Second)
					return 7, nil
				})
				assert.NoError(t, err)
				assert.Equal(t, 7, value)
			})
		}
		all.Wait()
		assert.EqualValues(t, 1, fetched.Load())
		value, err := c.Take("a", unexpected)
		assert.NoError(t, err)
		assert.Equal(t, 7, value)
		assert.Equal(t, cache.Stats{Hits: 1, Misses: 100}, c.Stats())
		pass(time.Minute)
		assert.False(t, has(c, "a"), "it expires like any other")
	})
}

func TestAnErrorGoesToAllAndIsNotStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t)
		broken := errors.New("broken")
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				_, err := c.Take("a", func() (int, error) {
					time.Sleep(time.Second)
					return 0, broken
				})
				assert.ErrorIs(t, err, broken)
			})
		}
		all.Wait()
		assert.Zero(t, c.Len())
		value, err := c.Take("a", slowly(1))
		assert.NoError(t, err)
		assert.Equal(t, 1, value)
	})
}

func TestAFetchDoesNotHoldUpOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, cache.WithLimit(10)) // where all keys share a stripe
		go c.Take("a", slowly(1))
		synctest.Wait()
		start := time.Now()
		require.NoError(t, c.Set("b", 2))
		_, err := c.Take("c", func() (int, error) { return 3, nil })
		require.NoError(t, err)
		c.Del("b")
		assert.Zero(t, time.Since(start))
		pass(time.Minute)
	})
}

func TestADelOvertakesAFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t)
		var old int
		go func() { old, _ = c.Take("a", slowly(1)) }()
		synctest.Wait()
		c.Del("a") // the world has changed
		value, err := c.Take("a", func() (int, error) { return 2, nil })
		require.NoError(t, err)
		assert.Equal(t, 2, value, "who comes after the Del fetches anew")
		pass(2 * time.Second)
		assert.Equal(t, 1, old, "who came before gets what was fetched for him")
		assert.True(t, holds(c, "a", 2), "but it is not stored")
	})
}

func TestADelDuringAFetchLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t)
		go c.Take("a", slowly(1))
		synctest.Wait()
		c.Del("a")
		pass(2 * time.Second)
		assert.False(t, has(c, "a"))
		assert.Zero(t, c.Len())
	})
}

func TestASetOvertakesAFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t)
		var old int
		go func() { old, _ = c.Take("a", slowly(1)) }()
		synctest.Wait()
		require.NoError(t, c.Set("a", 2))
		pass(2 * time.Second)
		assert.Equal(t, 1, old)
		assert.True(t, holds(c, "a", 2))
	})
}

func TestASetThatFailsOvertakesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		timer := newTimer(t, hashedwheel.WithMaxPendingTimeouts(1))
		c := newCache(t, cache.WithTimer(timer))
		other, err := timer.AfterFunc(time.Hour, func() {})
		require.NoError(t, err)
		go c.Take("a", slowly(1))
		synctest.Wait()
		require.ErrorIs(t, c.Set("a", 2), hwt.ErrTooManyPending)
		other.Cancel()
		pass(2 * time.Second)
		assert.True(t, holds(c, "a", 1), "the fetch goes on as if nothing had been")
	})
}

func TestAPanicGoesToTheFetcherAndAnErrorToTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t)
		var err error
		go func() {
			time.Sleep(time.Millisecond)
			_, err = c.Take("a", unexpected)
		}()
		assert.PanicsWithValue(t, "broken", func() {
			c.Take("a", func() (int, error) {
				time.Sleep(time.Second)
				panic("broken")
			})
		})
		synctest.Wait()
		var cause *hwt.PanicError
		require.ErrorAs(t, err, &cause)
		assert.Equal(t, "broken", cause.Value)
		assert.Contains(t, string(cause.Stack), "take_test.go", "the stack shows the fetch")
		value, err := c.Take("a", slowly(1))
		assert.NoError(t, err, "the next one is not affected")
		assert.Equal(t, 1, value)
	})
}

func TestAFetchThatEndsItsGoroutineStrandsNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t)
		go c.Take("a", func() (int, error) {
			time.Sleep(time.Second)
			runtime.Goexit()
			return 0, nil
		})
		synctest.Wait()
		_, err := c.Take("a", unexpected)
		assert.EqualError(t, err, "cache: fetch: fetch called runtime.Goexit")
	})
}

func TestCloseDuringAFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t)
		var value int
		var err error
		go func() { value, err = c.Take("a", slowly(1)) }()
		synctest.Wait()
		c.Close()
		pass(2 * time.Second)
		assert.NoError(t, err)
		assert.Equal(t, 1, value)
		assert.False(t, has(c, "a"))
	})
}

func TestTakeFetchesWhatHasJustExpired(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, cache.WithExactExpiry())
		require.NoError(t, c.Set("a", 1))
		time.Sleep(time.Minute) // over, but the tick has not come
		value, err := c.Take("a", func() (int, error) { return 2, nil })
		require.NoError(t, err)
		assert.Equal(t, 2, value)
		pass(time.Second)
		assert.True(t, holds(c, "a", 2))
	})
}

func TestTakeNeedsAFetch(t *testing.T) {
	_, err := newCache(t).Take("a", nil)
	assert.EqualError(t, err, "cache: Take: fetch is nil (expected: a function)")
}

// TestNoFetchBringsBackWhatWasDeleted runs on the real clock, for the races: a
// value fetched from a source before it changed must not be found after the Del
// that followed the change.
func TestNoFetchBringsBackWhatWasDeleted(t *testing.T) {
	c := newCache(t)
	var source atomic.Int64
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					c.Take("a", func() (int, error) { return int(source.Load()), nil })
				}
			}
		})
	}
	for i := range 20_000 {
		source.Store(int64(i))
		c.Del("a")
		value, err := c.Take("a", func() (int, error) { return int(source.Load()), nil })
		require.NoError(t, err)
		if value != i {
			t.Errorf("found %d after %d was announced", value, i)
			break
		}
	}
	close(stop)
	readers.Wait()
}
