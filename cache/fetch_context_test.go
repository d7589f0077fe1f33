package cache_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachWaiterCanGiveUpAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		f := &fetching{takes: time.Minute / 2}
		first, cancel := context.WithCancelCause(t.Context())
		why := errors.New("impatient")
		var firstErr, lastErr error
		var last int
		go func() { _, firstErr = c.GetOrFetch(first, "a", f.fetch) }()
		synctest.Wait()
		go func() { last, lastErr = c.GetOrFetch(t.Context(), "a", f.fetch) }()
		synctest.Wait()
		cancel(why)
		synctest.Wait()
		assert.Equal(t, why, firstErr)
		assert.Zero(t, f.canceled.Load(), "another caller still waits")
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err := c.GetOrFetch(short, "a", f.fetch)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		pass(time.Minute / 2)
		assert.NoError(t, lastErr)
		assert.Equal(t, 7, last)
		assert.EqualValues(t, 1, f.calls.Load())
		assert.True(t, holds(c, "a", 7))
	})
}

func TestLastWaiterCancelsTheFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		f := &fetching{takes: time.Minute}
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
				defer cancel()
				_, err := c.GetOrFetch(ctx, "a", f.fetch)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
			})
		}
		all.Wait()
		synctest.Wait()
		assert.EqualValues(t, 1, f.canceled.Load())
		assert.Zero(t, c.Len())
		// A later call does not join the canceled fetch.
		value, err := c.GetOrFetch(t.Context(), "a", f.fetch)
		assert.NoError(t, err)
		assert.Equal(t, 7, value)
		assert.EqualValues(t, 2, f.calls.Load())
	})
}

func TestCallAfterTheLastWaiterLeftFetchesAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		stubborn := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		var first sync.WaitGroup
		first.Go(func() {
			c.GetOrFetch(ctx, "a", func(context.Context) (int, error) {
				<-stubborn // does not look at its context
				return 1, nil
			})
		})
		synctest.Wait()
		cancel()
		first.Wait()
		value, err := c.GetOrFetch(t.Context(), "a", fetched(2))
		require.NoError(t, err)
		assert.Equal(t, 2, value)
		close(stubborn)
		synctest.Wait()
		assert.True(t, holds(c, "a", 2), "the old fetch stores nothing")
	})
}

func TestFetchHasTheValuesOfTheFirstCaller(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type key struct{}
		c := newCache(t, options{})
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "mine"), time.Hour)
		defer cancel()
		var seen context.Context
		_, err := c.GetOrFetch(ctx, "a", func(ctx context.Context) (int, error) {
			assert.Equal(t, "mine", ctx.Value(key{}))
			_, limited := ctx.Deadline()
			assert.False(t, limited, "others may wait longer")
			seen = ctx
			return 1, nil
		})
		require.NoError(t, err)
		assert.Error(t, seen.Err(), "it ends with the fetch")
	})
}

func TestRecursiveCallWithAnotherContextEndsWithIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		value, err := c.GetOrFetch(t.Context(), "a", func(context.Context) (int, error) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := c.GetOrFetch(ctx, "a", unexpected)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			return 1, nil
		})
		assert.NoError(t, err)
		assert.Equal(t, 1, value)
	})
}

func TestDeadlineEndsAMutualWaitOfFetches(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		begin := time.Now()
		var all sync.WaitGroup
		for key, other := range map[string]string{"a": "b", "b": "a"} {
			all.Go(func() {
				_, err := c.GetOrFetch(t.Context(), key, func(ctx context.Context) (int, error) {
					time.Sleep(time.Second) // until the other fetch runs
					ctx, cancel := context.WithTimeout(ctx, time.Minute)
					defer cancel()
					return c.GetOrFetch(ctx, other, unexpected)
				})
				assert.ErrorIs(t, err, context.DeadlineExceeded)
			})
		}
		all.Wait()
		assert.Equal(t, time.Minute+time.Second, time.Since(begin))
	})
}

func TestEndedContextStartsNoFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.GetOrFetch(ctx, "a", unexpected)
		assert.ErrorIs(t, err, context.Canceled)
		set(t, c, "a", 1)
		value, err := c.GetOrFetch(ctx, "a", unexpected)
		assert.NoError(t, err, "a stored value needs no waiting")
		assert.Equal(t, 1, value)
	})
}

// TestNoCallerGetsTheErrorOfAnothersContext runs on the real clock. Callers stop
// waiting at any moment.
func TestNoCallerGetsTheErrorOfAnothersContext(t *testing.T) {
	onProcs(func() {
		c := newCache(t, options{})
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				for i := range 2000 {
					ctx, cancel := context.WithCancel(context.Background())
					if g%2 == 0 {
						go cancel()
					}
					value, err := c.GetOrFetch(ctx, "a", func(ctx context.Context) (int, error) {
						runtime.Gosched()
						return 1, ctx.Err()
					})
					if g%2 == 1 {
						assert.NoError(t, err)
						assert.Equal(t, 1, value)
					}
					cancel()
					if i%3 == 0 {
						c.Delete("a")
					}
				}
			})
		}
		all.Wait()
		c.Close()
	})
}
