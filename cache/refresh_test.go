package cache_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

func TestRefreshAheadKeepsCallersFromWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, options{RefreshAhead: 20 * time.Second}) // TTL of a minute
		fetches := 0
		get := func() int {
			value, err := c.GetOrFetch(t.Context(), "a", func(context.Context) (int, error) {
				time.Sleep(time.Second)
				fetches++
				return fetches, nil
			})
			require.NoError(t, err)
			return value
		}
		assert.Equal(t, 1, get(), "the first caller waits")
		for n := 1; n < 5; n++ {
			time.Sleep(39 * time.Second)
			begin := time.Now()
			assert.Equal(t, n, get(), "fresh")
			time.Sleep(2 * time.Second)
			assert.Equal(t, n, get(), "stale: one fetch")
			assert.Equal(t, n, get(), "for two callers")
			assert.Equal(t, begin.Add(2*time.Second), time.Now(), "no caller waits")
			time.Sleep(time.Second)
			synctest.Wait()
			assert.Equal(t, n+1, get())
		}
		assert.Equal(t, 5, fetches)
	})
}

func TestFailedRefreshLeavesTheEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := newCache(t, options{RefreshAhead: 20 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		set(t, c, "a", 1)
		errDown := errors.New("down")
		fail := func(context.Context) (int, error) { return 0, errDown }
		time.Sleep(50 * time.Second)
		for range 3 {
			value, err := c.GetOrFetch(t.Context(), "a", fail)
			require.NoError(t, err)
			assert.Equal(t, 1, value)
			synctest.Wait()
		}
		assert.Empty(t, log.String())
		_, err := c.GetOrFetch(t.Context(), "a", func(context.Context) (int, error) { panic("broken") })
		require.NoError(t, err)
		synctest.Wait()
		assert.Contains(t, log.String(), "refresh failed")
		time.Sleep(11 * time.Second)
		_, err = c.GetOrFetch(t.Context(), "a", fail)
		assert.ErrorIs(t, err, errDown, "the entry has expired")
	})
}

func TestRefreshOutlivesItsCallerAndIsOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, options{RefreshAhead: time.Minute})
		set(t, c, "a", 1)
		ctx, cancel := context.WithCancel(t.Context())
		refresh := func() {
			_, err := c.GetOrFetch(ctx, "a", func(ctx context.Context) (int, error) {
				time.Sleep(time.Second)
				return 2, ctx.Err()
			})
			require.NoError(t, err)
		}
		time.Sleep(time.Second)
		refresh()
		cancel()
		ctx = t.Context()
		time.Sleep(2 * time.Second)
		assert.True(t, holds(c, "a", 2), "the refresh has no caller whose end it shares")
		time.Sleep(time.Second)
		refresh()
		set(t, c, "a", 3)
		time.Sleep(2 * time.Second)
		assert.True(t, holds(c, "a", 3), "a Set overtakes the refresh")
	})
}

func TestUpdateKeepsTheTTL(t *testing.T) {
	for name, o := range map[string]options{"plain": {}, "limit": {Limit: 1}, "exact": {ExactExpiry: true}, "sliding": {Sliding: time.Hour}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCache(t, o)
				set(t, c, "a", 1)
				time.Sleep(40 * time.Second)
				updated, err := c.Update("a", func(v int) int { return v + 1 })
				require.NoError(t, err)
				assert.True(t, updated)
				assert.True(t, holds(c, "a", 2))
				left, ok := c.TTL("a")
				assert.True(t, ok)
				assert.Equal(t, 20*time.Second, left)
				time.Sleep(21 * time.Second)
				updated, err = c.Update("a", func(int) int { t.Error("called"); return 0 })
				require.NoError(t, err)
				assert.False(t, updated, "the entry has expired")
			})
		})
	}
}

func TestUpdateLosesNoOtherUpdate(t *testing.T) {
	c := newCache(t, options{})
	set(t, c, "a", 0)
	done := make(chan struct{})
	const each = 2000
	for range 4 {
		go func() {
			defer func() { done <- struct{}{} }()
			for range each {
				updated, err := c.Update("a", func(v int) int { return v + 1 })
				assert.NoError(t, err)
				assert.True(t, updated)
			}
		}()
	}
	for range 4 {
		<-done
	}
	assert.True(t, holds(c, "a", 4*each))
	calls := 0
	updated, err := c.Update("a", func(v int) int {
		if calls++; calls == 1 {
			set(t, c, "a", 7)
		}
		return v + 1
	})
	require.NoError(t, err)
	assert.True(t, updated)
	assert.True(t, holds(c, "a", 8), "a Set while f ran")
	assert.Equal(t, 2, calls)
}

func TestPeekIsNoUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, options{Sliding: 10 * time.Second, Limit: 2})
		set(t, c, "a", 1)
		time.Sleep(9 * time.Second)
		value, ok := c.Peek("a")
		assert.True(t, ok)
		assert.Equal(t, 1, value)
		assert.Zero(t, c.Stats().Hits)
		time.Sleep(2 * time.Second)
		_, ok = c.Peek("a")
		assert.False(t, ok)
		assert.Zero(t, c.Stats().Misses)
	})
}

func TestUpdateWithoutAFunctionIsAnError(t *testing.T) {
	c := newCache(t, options{})
	require.NoError(t, c.Set("a", 1))
	for _, key := range []string{"a", "absent"} {
		t.Run(key, func(t *testing.T) {
			updated, err := c.Update(key, nil)
			assert.EqualError(t, err, "cache: Update: f is nil (expected: a function)")
			assert.ErrorIs(t, err, hwt.ErrInvalid)
			assert.False(t, updated)
		})
	}
}
