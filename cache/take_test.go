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
)

// slowly is a fetch that takes a second of fake time.
func slowly(value int) func() (int, error) {
	return func() (int, error) {
		time.Sleep(time.Second)
		return value, nil
	}
}

func TestTakeFetchesOnceForAllCallers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
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
		pass(time.Minute + 200*time.Millisecond)
		assert.False(t, has(c, "a"), "it expires like any other entry")
	})
}

func TestAnErrorIsReturnedToAllCallersAndNotStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
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

func TestAFetchDoesNotBlockOtherKeys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{Limit: 10}) // so that all keys share a stripe
		go c.Take("a", slowly(1))
		synctest.Wait()
		start := time.Now()
		require.NoError(t, c.Set("b", 2))
		_, err := c.Take("c", func() (int, error) { return 3, nil })
		require.NoError(t, err)
		c.Delete("b")
		assert.Zero(t, time.Since(start))
		pass(time.Minute)
	})
}

func TestADeleteOvertakesAFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		var old int
		go func() { old, _ = c.Take("a", slowly(1)) }()
		synctest.Wait()
		c.Delete("a") // the source has changed
		value, err := c.Take("a", func() (int, error) { return 2, nil })
		require.NoError(t, err)
		assert.Equal(t, 2, value, "a caller after the Delete fetches again")
		pass(2 * time.Second)
		assert.Equal(t, 1, old, "an earlier caller gets the value that was fetched for it")
		assert.True(t, holds(c, "a", 2), "which is not stored")
	})
}

func TestADeleteDuringAFetchLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		go c.Take("a", slowly(1))
		synctest.Wait()
		c.Delete("a")
		pass(2 * time.Second)
		assert.False(t, has(c, "a"))
		assert.Zero(t, c.Len())
	})
}

func TestASetOvertakesAFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		var old int
		go func() { old, _ = c.Take("a", slowly(1)) }()
		synctest.Wait()
		require.NoError(t, c.Set("a", 2))
		pass(2 * time.Second)
		assert.Equal(t, 1, old)
		assert.True(t, holds(c, "a", 2))
	})
}

func TestAPanicReachesTheFetcherAndAnErrorTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
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

func TestAFetchThatEndsItsGoroutineReleasesItsWaiters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		go c.Take("a", func() (int, error) {
			time.Sleep(time.Second)
			runtime.Goexit()
			return 0, nil
		})
		synctest.Wait()
		_, err := c.Take("a", unexpected)
		assert.ErrorIs(t, err, hwt.ErrGoexit)
		assert.ErrorContains(t, err, "cache: fetch: ")
	})
}

func TestCloseDuringAFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
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

func TestTakeFetchesAnEntryThatHasJustExpired(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{ExactExpiry: true})
		require.NoError(t, c.Set("a", 1))
		time.Sleep(time.Minute) // its TTL is over, but the tick has not come
		value, err := c.Take("a", func() (int, error) { return 2, nil })
		require.NoError(t, err)
		assert.Equal(t, 2, value)
		pass(time.Second)
		assert.True(t, holds(c, "a", 2))
	})
}

func TestAClearOvertakesAFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		var old int
		go func() { old, _ = c.Take("a", slowly(1)) }()
		synctest.Wait()
		c.Clear()
		pass(2 * time.Second)
		assert.Equal(t, 1, old)
		assert.Zero(t, c.Len())
	})
}

func TestSetIfAbsentOvertakesAFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		go c.Take("a", slowly(1))
		synctest.Wait()
		ok, err := c.SetIfAbsent("a", 2)
		require.NoError(t, err)
		assert.True(t, ok)
		pass(2 * time.Second)
		assert.True(t, holds(c, "a", 2))
	})
}

// TestNoFetchBringsBackWhatWasDeleted runs on the real clock, for the races: a
// value fetched from a source before it changed must not be found after the
// Delete that followed the change.
func TestNoFetchBringsBackWhatWasDeleted(t *testing.T) {
	c := newCache(t, options{})
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
		c.Delete("a")
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
