package cache

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/hashedwheel/hwt"
)

// errGoexit is what waiters get if a fetch ended its goroutine.
var errGoexit = errors.New("fetch called runtime.Goexit")

// flight is a fetch under way.
type flight[V any] struct {
	done  chan struct{} // closed when value and err stand.
	value V             // Immutable once done.
	err   error         // Immutable once done.
}

// Take returns the value stored under key; if there is none, it calls fetch,
// stores what that returns, for the time given to New, and returns it. Of
// several calls at the same time one fetches, and the others wait for it. An
// error is returned to all of them, and not stored.
//
// What a Set or a Del overtakes is still returned to those who wait for it, but
// not stored; and a Take that begins after the Del fetches anew. A value that
// could not be stored, because of ErrClosed or of the timer's errors, is
// returned all the same.
//
// If fetch panics, so does the Take that called it; those who wait get an error
// that wraps a *hwt.PanicError. fetch may use the cache, but not Take the same
// key, which would wait for itself.
//
// Take returns ErrClosed after Close, and ErrKey; then fetch was not called.
func (c *Cache[K, V]) Take(key K, fetch func() (V, error)) (value V, err error) {
	if fetch == nil {
		return value, errors.New("cache: Take: fetch is nil (expected: a function)")
	}
	if !c.check.OK(key) {
		return value, ErrKey
	}
	if value, ok := c.Get(key); ok {
		return value, nil
	}
	s := c.stripes.of(key)
	f, leads, err := c.board(s, key)
	if err != nil {
		return value, err
	}
	if !leads {
		<-f.done
		return f.value, f.err
	}
	c.lead(s, key, f, fetch)
	return f.value, f.err
}

// board returns the flight to wait for, or a new one to lead; or one that has
// landed since Get looked.
func (c *Cache[K, V]) board(s *stripe[K, V], key K) (f *flight[V], leads bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.closed.Load() {
		return nil, false, ErrClosed
	}
	if e, ok := c.find(key); ok {
		return &flight[V]{done: landed, value: e.value}, false, nil
	}
	if f, ok := s.flights[key]; ok {
		return f, false, nil
	}
	if s.flights == nil {
		s.flights = make(map[K]*flight[V])
	}
	f = &flight[V]{done: make(chan struct{})}
	s.flights[key] = f
	return f, true, nil
}

// landed is the done of flights that never were.
var landed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// lead fetches for all who wait for f.
func (c *Cache[K, V]) lead(s *stripe[K, V], key K, f *flight[V], fetch func() (V, error)) {
	returned := false
	defer func() {
		if returned {
			c.land(s, key, f)
			return
		}
		recovered := recover()
		f.err = fmt.Errorf("cache: fetch: %w", errGoexit)
		if recovered != nil {
			f.err = fmt.Errorf("cache: fetch: %w", &hwt.PanicError{Value: recovered, Stack: debug.Stack()})
		}
		c.land(s, key, f)
		if recovered != nil {
			panic(recovered)
		}
	}()
	f.value, f.err = fetch()
	returned = true
}

// land stores what f brought, unless it failed or was overtaken (C2), and lets
// go those who wait.
func (c *Cache[K, V]) land(s *stripe[K, V], key K, f *flight[V]) {
	var d dropped[K, V]
	s.mu.Lock()
	if s.flights[key] == f {
		delete(s.flights, key)
		if f.err == nil {
			d, _ = c.store(s, key, f.value, c.expire)
		}
	}
	s.mu.Unlock()
	close(f.done)
	c.tellEvicted(d)
}
