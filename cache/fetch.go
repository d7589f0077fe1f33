package cache

import (
	"context"
	"fmt"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// GetOrFetch returns the value stored under key. If the key has no entry, GetOrFetch calls
// fetch, stores the value for the TTL given to New, and returns the value. Concurrent calls
// for a key share one fetch and one error. Errors are not stored.
//
// fetch runs on its own goroutine. Each caller waits until its own ctx ends, and then
// returns the cause of ctx. The context of fetch has the values of the first caller's ctx.
// That context ends when fetch returns or the last caller has stopped waiting; a later call
// then fetches again.
//
// A Set, Delete, or Clear during the fetch overtakes the fetch: callers that wait still get
// the fetched value, but the value is not stored, and a later call fetches again. A value
// that cannot be stored, because of ErrClosed or an error of the timer, is returned as
// well.
//
// If fetch panics, all callers get an error that wraps a *[hwt.PanicError]. If fetch ends its
// goroutine, all callers get an error that wraps [hwt.ErrGoexit]. fetch may use the cache. A
// call for the fetch's own key, with the fetch's context, returns [ErrRecursion]; with any
// other context, that call waits until that context ends.
//
// Two fetches that call GetOrFetch for each other's keys deadlock, even after all other
// callers have stopped waiting. A deadline in the context of such a call ends the wait.
//
// GetOrFetch returns ErrClosed or ErrInvalidKey without calling fetch.
func (c *Cache[K, V]) GetOrFetch(ctx context.Context, key K, fetch func(ctx context.Context) (V, error)) (value V, err error) {
	if fetch == nil {
		return value, errNilFunc("GetOrFetch", "fetch")
	}
	return c.getOrFetch(ctx, key, func(ctx context.Context) (V, time.Duration, error) {
		value, err := fetch(ctx)
		return value, c.ttl, err
	})
}

// GetOrFetchWithTTL is GetOrFetch for a fetch that also returns the value's TTL: a value
// can carry its own TTL and "not found" can be cached briefly. A value with the TTL
// [NoExpiry] does not expire. A value with a TTL of zero or less is not stored.
func (c *Cache[K, V]) GetOrFetchWithTTL(ctx context.Context, key K, fetch func(ctx context.Context) (V, time.Duration, error)) (value V, err error) {
	if fetch == nil {
		return value, errNilFunc("GetOrFetchWithTTL", "fetch")
	}
	return c.getOrFetch(ctx, key, fetch)
}

// getOrFetch is GetOrFetchWithTTL for a fetch that is not nil.
func (c *Cache[K, V]) getOrFetch(ctx context.Context, key K, fetch func(context.Context) (V, time.Duration, error)) (value V, err error) {
	it, ok := c.find(key)
	c.count(ok)
	if !ok {
		return c.fetch(ctx, key, fetch)
	}
	if c.options.RefreshAhead > 0 && it.deadline != never && time.Duration(it.deadline-c.now()) < c.options.RefreshAhead {
		c.refresh(ctx, key, fetch)
	}
	return it.value, nil
}

// refresh fetches the value of key in the background, unless a fetch of key is running.
func (c *Cache[K, V]) refresh(ctx context.Context, key K, fetch func(context.Context) (V, time.Duration, error)) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	started := &flight[V]{done: make(chan struct{}), cancel: cancel, waiters: 1, refresh: true} // one waiter, which never leaves
	leads := false
	c.items.Compute(key, func(it item[V], _ bool) (item[V], xsync.ComputeOp) {
		if leads = !c.closed.Load() && c.flights.find(key) == nil; leads {
			c.flights.start(key, started)
		}
		return it, xsync.CancelOp
	})
	if !leads {
		cancel()
		return
	}
	go c.run(key, started, func() (V, time.Duration, error) { return fetch(context.WithValue(own, started, true)) })
}

func errNilFunc(method, parameter string) error {
	return check.Errorf("cache: %s: %s is nil (expected: a function)", method, parameter)
}

// fetch waits for the running fetch of key, or starts one.
func (c *Cache[K, V]) fetch(ctx context.Context, key K, fetch func(context.Context) (V, time.Duration, error)) (value V, err error) {
	if ctx.Err() != nil {
		return value, context.Cause(ctx)
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f, leads, err := c.join(key, cancel)
	if leads {
		go c.run(key, f, func() (V, time.Duration, error) { return fetch(context.WithValue(own, f, true)) })
	} else {
		cancel()
	}
	if err != nil {
		return value, err
	}
	if ctx.Value(f) != nil { // f would wait for itself
		c.leave(key, f)
		return value, ErrRecursion
	}
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		c.leave(key, f)
		return value, context.Cause(ctx)
	}
}

// join returns the flight to wait for. If leads is true, the flight is new and the caller
// must run it. If a value was stored after the caller's Get, join returns the value as a
// flight that is done.
func (c *Cache[K, V]) join(key K, cancel context.CancelFunc) (f *flight[V], leads bool, err error) {
	if !c.check.OK(key) {
		return nil, false, ErrInvalidKey
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

// leave takes back a join. The last waiter cancels the fetch.
func (c *Cache[K, V]) leave(key K, f *flight[V]) {
	c.items.Compute(key, func(it item[V], _ bool) (item[V], xsync.ComputeOp) {
		if f.waiters--; f.waiters == 0 {
			c.flights.finish(key, f) // so that later calls start another
			f.cancel()
		}
		return it, xsync.CancelOp
	})
}

// run runs fetch for all waiters of f.
func (c *Cache[K, V]) run(key K, f *flight[V], fetch func() (V, time.Duration, error)) {
	returned := false
	usercode.Run(func() {
		f.value, f.ttl, f.err = fetch()
		returned = true
	}, func(err error) {
		f.err = fmt.Errorf("cache: fetch: %w", err)
		if f.refresh {
			c.options.Logger.Error("cache: refresh failed", "cache", c.options.Name, "key", key, "error", err)
		}
		c.finish(key, f)
	})
	if returned {
		c.finish(key, f)
	}
}

// finish stores the value of f, unless f failed or was overtaken (C5), and wakes the
// waiters.
func (c *Cache[K, V]) finish(key K, f *flight[V]) {
	defer func() { // even if OnEvict ends the goroutine
		c.flights.finish(key, f) // if the value was not stored
		f.cancel()
		close(f.done)
	}()
	if f.err == nil && f.ttl > 0 {
		_, _ = c.put(write[V]{value: f.value, ttl: f.ttl, flight: f}, key)
	}
}
