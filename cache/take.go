package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// Take returns the value stored under key. If there is none, Take calls fetch,
// stores the value that it returns for the TTL given to New, and returns it. Of
// several concurrent calls one fetches, and the others wait for it. An error of
// fetch is returned to all of them and not stored.
//
// A Set, Delete or Clear during the fetch overtakes it: the fetched value is
// still returned to those that wait for it, but not stored, and a Take that
// begins later fetches again. A value that cannot be stored, because of
// ErrClosed or an error of the timer, is returned as well.
//
// If fetch panics, so does the Take that called it, and those that wait get an
// error that wraps a *[hwt.PanicError]. If fetch ends its goroutine, those that
// wait get an error that wraps [hwt.ErrGoexit]. fetch may use the cache, but must
// not Take the same key, which would wait for itself.
//
// Take returns ErrClosed after Close, and ErrKey, without calling fetch.
func (c *Cache[K, V]) Take(key K, fetch func() (V, error)) (value V, err error) {
	if fetch == nil {
		return value, errNilFetch("Take")
	}
	if value, ok := c.Get(key); ok {
		return value, nil
	}
	f, leads, err := c.join(key, nil)
	if err != nil {
		return value, err
	}
	if leads {
		c.run(key, f, func() (V, time.Duration, error) {
			value, err := fetch()
			return value, c.ttl, err
		})
	}
	<-f.done
	return f.value, f.err
}

// TakeContext is Take for a fetch with a context. The fetch runs on a goroutine
// of its own, and each caller waits for it until its own ctx ends, and then
// returns the context's cause. The context of the fetch has the values of the
// first caller's ctx. It ends when the last caller has stopped waiting; a later
// call then fetches again.
//
// All callers get an error if fetch panics or ends its goroutine, including the
// first.
func (c *Cache[K, V]) TakeContext(ctx context.Context, key K, fetch func(ctx context.Context) (V, error)) (value V, err error) {
	if fetch == nil {
		return value, errNilFetch("TakeContext")
	}
	if value, ok := c.Get(key); ok {
		return value, nil
	}
	return c.take(ctx, key, func(ctx context.Context) (V, time.Duration, error) {
		value, err := fetch(ctx)
		return value, c.ttl, err
	})
}

// TakeWithTTL is TakeContext for a fetch that also returns the TTL of its value,
// so that a value can say how long it is good for, or that there is nothing can
// be cached for a short time. [NoExpiry] means that the value does not expire; a
// TTL of zero or less that it is not stored.
func (c *Cache[K, V]) TakeWithTTL(ctx context.Context, key K, fetch func(ctx context.Context) (V, time.Duration, error)) (value V, err error) {
	if fetch == nil {
		return value, errNilFetch("TakeWithTTL")
	}
	if value, ok := c.Get(key); ok {
		return value, nil
	}
	return c.take(ctx, key, fetch)
}

func errNilFetch(method string) error {
	return errors.New("cache: " + method + ": fetch is nil (expected: a function)")
}

// take waits for a fetch of key, which it starts if there is none.
func (c *Cache[K, V]) take(ctx context.Context, key K, fetch func(context.Context) (V, time.Duration, error)) (value V, err error) {
	if ctx.Err() != nil {
		return value, context.Cause(ctx)
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f, leads, err := c.join(key, cancel)
	if leads {
		go c.run(key, f, func() (V, time.Duration, error) { return fetch(own) })
	} else {
		cancel()
	}
	if err != nil {
		return value, err
	}
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		c.leave(key, f)
		return value, context.Cause(ctx)
	}
}

// join returns the flight to wait for. If leads is true, the flight is new and
// the caller must run it. A value that was stored since the caller looked is
// returned as a flight that is done.
func (c *Cache[K, V]) join(key K, cancel context.CancelFunc) (f *flight[V], leads bool, err error) {
	if !c.check.OK(key) {
		return nil, false, ErrKey
	}
	c.items.Compute(key, func(it item[V], known bool) (item[V], xsync.ComputeOp) {
		if c.closed.Load() {
			err = ErrClosed
			return it, xsync.CancelOp
		}
		if known && c.alive(it) {
			f = &flight[V]{done: closedChan, value: it.value}
			return it, xsync.CancelOp
		}
		if f = c.flights.find(key); f == nil {
			f, leads = &flight[V]{done: make(chan struct{}), cancel: cancel}, true
			c.flights.start(key, f)
		}
		f.waiters++
		return it, xsync.CancelOp
	})
	return f, leads, err
}

// closedChan is the done channel of flights that never ran.
var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// leave takes back a join. The last waiter cancels the fetch, unless that runs on
// the goroutine of a Take.
func (c *Cache[K, V]) leave(key K, f *flight[V]) {
	c.items.Compute(key, func(it item[V], _ bool) (item[V], xsync.ComputeOp) {
		if f.waiters--; f.waiters == 0 && f.cancel != nil {
			c.flights.finish(key, f) // so that later calls start another
			f.cancel()
		}
		return it, xsync.CancelOp
	})
}

// run fetches for all that wait for f.
func (c *Cache[K, V]) run(key K, f *flight[V], fetch func() (V, time.Duration, error)) {
	returned := false
	usercode.Run(func() {
		f.value, f.ttl, f.err = fetch()
		returned = true
	}, func(err error) {
		f.err = fmt.Errorf("cache: fetch: %w", err)
		c.finish(key, f)
		if p, ok := err.(*hwt.PanicError); ok && f.cancel == nil {
			panic(p.Value) // on the goroutine of the Take that called fetch
		}
	})
	if returned {
		c.finish(key, f)
	}
}

// finish stores the value of f, unless f failed or was overtaken (C5), and wakes
// those that wait for it.
func (c *Cache[K, V]) finish(key K, f *flight[V]) {
	if f.err == nil && f.ttl > 0 {
		_, _ = c.put(write[V]{value: f.value, ttl: f.ttl, flight: f}, key)
	}
	c.flights.finish(key, f) // if it was not stored
	if f.cancel != nil {
		f.cancel()
	}
	close(f.done)
}
