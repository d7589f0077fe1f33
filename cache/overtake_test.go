package cache_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDeleteOvertakesAFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		var old int
		go func() { old, _ = c.GetOrFetch(t.Context(), "a", slowly(1)) }()
		synctest.Wait()
		c.Delete("a") // the source has changed
		value, err := c.GetOrFetch(t.Context(), "a", fetched(2))
		require.NoError(t, err)
		assert.Equal(t, 2, value, "a caller after the Delete fetches again")
		pass(2 * time.Second)
		assert.Equal(t, 1, old, "an earlier caller gets the fetched value")
		assert.True(t, holds(c, "a", 2), "the value of the overtaken fetch is not stored")
	})
}

func TestDeleteDuringAFetchLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		go c.GetOrFetch(t.Context(), "a", slowly(1))
		synctest.Wait()
		c.Delete("a")
		pass(2 * time.Second)
		assert.False(t, has(c, "a"))
		assert.Zero(t, c.Len())
	})
}

func TestSetOvertakesAFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		var old int
		go func() { old, _ = c.GetOrFetch(t.Context(), "a", slowly(1)) }()
		synctest.Wait()
		require.NoError(t, c.Set("a", 2))
		pass(2 * time.Second)
		assert.Equal(t, 1, old)
		assert.True(t, holds(c, "a", 2))
	})
}

func TestCloseDuringAFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		var value int
		var err error
		go func() { value, err = c.GetOrFetch(t.Context(), "a", slowly(1)) }()
		synctest.Wait()
		c.Close()
		pass(2 * time.Second)
		assert.NoError(t, err)
		assert.Equal(t, 1, value)
		assert.False(t, has(c, "a"))
	})
}

func TestClearOvertakesAFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		var old int
		go func() { old, _ = c.GetOrFetch(t.Context(), "a", slowly(1)) }()
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
		go c.GetOrFetch(t.Context(), "a", slowly(1))
		synctest.Wait()
		ok, err := c.SetIfAbsent("a", 2)
		require.NoError(t, err)
		assert.True(t, ok)
		pass(2 * time.Second)
		assert.True(t, holds(c, "a", 2))
	})
}

// TestNoFetchBringsBackADeletedValue runs on the real clock, to provoke races. The
// source changes before each Delete, so no later lookup may find the old value.
func TestNoFetchBringsBackADeletedValue(t *testing.T) {
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
					c.GetOrFetch(t.Context(), "a", func(context.Context) (int, error) { return int(source.Load()), nil })
				}
			}
		})
	}
	for i := range 20_000 {
		source.Store(int64(i))
		c.Delete("a")
		value, err := c.GetOrFetch(t.Context(), "a", func(context.Context) (int, error) { return int(source.Load()), nil })
		require.NoError(t, err)
		if value != i {
			t.Errorf("found %d after %d was announced", value, i)
			break
		}
	}
	close(stop)
	readers.Wait()
}
