package cache_test

import (
	"context"
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

// fetching is a fetch that takes a time, unless its context ends.
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

func TestTakeContextFetchesOnceForAllCallers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		f := &fetching{takes: time.Second}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				value, err := c.TakeContext(t.Context(), "a", f.fetch)
				assert.NoError(t, err)
				assert.Equal(t, 7, value)
			})
			all.Go(func() {
				value, err := c.Take("a", unexpected)
				if err == nil { // or it came first, and fetched
					assert.Equal(t, 7, value)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		assert.EqualValues(t, 1, f.calls.Load())
		value, err := c.TakeContext(t.Context(), "a", f.fetch)
		assert.NoError(t, err)
		assert.Equal(t, 7, value)
		assert.EqualValues(t, 1, f.calls.Load())
	})
}

func TestEachWaiterCanGiveUpAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		f := &fetching{takes: time.Minute / 2}
		first, cancel := context.WithCancelCause(t.Context())
		why := errors.New("impatient")
		var firstErr, lastErr error
		var last int
		go func() { _, firstErr = c.TakeContext(first, "a", f.fetch) }()
		synctest.Wait()
		go func() { last, lastErr = c.TakeContext(t.Context(), "a", f.fetch) }()
		synctest.Wait()
		cancel(why)
		synctest.Wait()
		assert.Equal(t, why, firstErr)
		assert.Zero(t, f.canceled.Load(), "somebody still waits")
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err := c.TakeContext(short, "a", f.fetch)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		pass(time.Minute / 2)
		assert.NoError(t, lastErr)
		assert.Equal(t, 7, last)
		assert.EqualValues(t, 1, f.calls.Load())
		assert.True(t, holds(c, "a", 7))
	})
}

func TestTheLastWaiterCancelsTheFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		f := &fetching{takes: time.Minute}
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
				defer cancel()
				_, err := c.TakeContext(ctx, "a", f.fetch)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
			})
		}
		all.Wait()
		synctest.Wait()
		assert.EqualValues(t, 1, f.canceled.Load())
		assert.Zero(t, c.Len())
		// A later call does not get the end of the canceled fetch.
		value, err := c.TakeContext(t.Context(), "a", f.fetch)
		assert.NoError(t, err)
		assert.Equal(t, 7, value)
		assert.EqualValues(t, 2, f.calls.Load())
	})
}

func TestACallRightAfterTheLastWaiterLeftFetchesAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		stubborn := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		var first sync.WaitGroup
		first.Go(func() {
			c.TakeContext(ctx, "a", func(context.Context) (int, error) {
				<-stubborn // does not look at its context
				return 1, nil
			})
		})
		synctest.Wait()
		cancel()
		first.Wait()
		value, err := c.Take("a", func() (int, error) { return 2, nil })
		require.NoError(t, err)
		assert.Equal(t, 2, value)
		close(stubborn)
		synctest.Wait()
		assert.True(t, holds(c, "a", 2), "the old fetch stores nothing")
	})
}

func TestAFetchOfTakeIsNotCanceledByWaiters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		var value int
		var err error
		go func() { value, err = c.Take("a", slowly(1)) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, waiterErr := c.TakeContext(ctx, "a", func(context.Context) (int, error) { return unexpected() })
		assert.ErrorIs(t, waiterErr, context.DeadlineExceeded)
		pass(2 * time.Second)
		assert.NoError(t, err)
		assert.Equal(t, 1, value)
	})
}

func TestTheFetchHasTheValuesOfTheFirstCaller(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type key struct{}
		c := newCache(t, options{})
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "mine"), time.Hour)
		defer cancel()
		var seen context.Context
		_, err := c.TakeContext(ctx, "a", func(ctx context.Context) (int, error) {
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

func TestAContextThatHasEndedFetchesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.TakeContext(ctx, "a", func(context.Context) (int, error) { return unexpected() })
		assert.ErrorIs(t, err, context.Canceled)
		set(t, c, "a", 1)
		value, err := c.TakeContext(ctx, "a", func(context.Context) (int, error) { return unexpected() })
		assert.NoError(t, err, "a value that is there needs no time")
		assert.Equal(t, 1, value)
	})
}

func TestABrokenFetchOfTakeContextIsAnErrorForAll(t *testing.T) {
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
					_, errs[i] = c.TakeContext(t.Context(), "a", func(context.Context) (int, error) {
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
			}
		}
	})
}

func TestTakeWithTTLStoresForTheTTLOfTheFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCache(t, options{})
		take := func(key string, ttl time.Duration) {
			value, err := c.TakeWithTTL(t.Context(), key, func(context.Context) (int, time.Duration, error) { return 1, ttl, nil })
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

func TestTakeRefusesANilFetch(t *testing.T) {
	c := newCache(t, options{})
	_, err := c.Take("a", nil)
	assert.EqualError(t, err, "cache: Take: fetch is nil (expected: a function)")
	_, err = c.TakeContext(t.Context(), "a", nil)
	assert.EqualError(t, err, "cache: TakeContext: fetch is nil (expected: a function)")
	_, err = c.TakeWithTTL(t.Context(), "a", nil)
	assert.EqualError(t, err, "cache: TakeWithTTL: fetch is nil (expected: a function)")
	c.Close()
	_, err = c.TakeContext(t.Context(), "a", func(context.Context) (int, error) { return unexpected() })
	assert.ErrorIs(t, err, cache.ErrClosed)
}

// TestTakeContextUnderConcurrentUse runs on the real clock: callers that give up
// at any moment must never give another one their context's error.
func TestTakeContextUnderConcurrentUse(t *testing.T) {
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
					value, err := c.TakeContext(ctx, "a", func(ctx context.Context) (int, error) {
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
