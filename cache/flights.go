package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// flight is a running fetch.
type flight[V any] struct {
	done   chan struct{}      // closed when the result is final.
	value  V                  // Immutable once done.
	ttl    time.Duration      // Immutable once done.
	err    error              // Immutable once done.
	cancel context.CancelFunc // ends the context of the fetch. Immutable.

	refresh bool // nobody waits for the flight at first. Immutable.
	waiters int  // Guarded by the lock of the key's bucket.
}

// flights are the fetches that may store a result, by key (C5). Methods with a key require the
// lock of the key's bucket.
type flights[K comparable, V any] struct {
	count atomic.Int64 // Atomic: written under mu, read without mu under the bucket's lock.

	mu sync.Mutex
	m  map[K]*flight[V] // Guarded by mu.
}

// find returns the flight of key, or nil.
func (f *flights[K, V]) find(key K) *flight[V] {
	if f.count.Load() == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.m[key]
}

// start adds a flight of key.
func (f *flights[K, V]) start(key K, started *flight[V]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.m == nil {
		f.m = make(map[K]*flight[V])
	}
	f.m[key] = started
	f.count.Store(int64(len(f.m)))
}

// finish removes a flight, and reports whether the flight was not overtaken.
func (f *flights[K, V]) finish(key K, finished *flight[V]) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.m[key] != finished {
		return false
	}
	delete(f.m, key)
	f.count.Store(int64(len(f.m)))
	return true
}

// overtake removes the flight of key.
func (f *flights[K, V]) overtake(key K) {
	if f.count.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.m, key)
	f.count.Store(int64(len(f.m)))
}

// overtakeAll removes all flights.
func (f *flights[K, V]) overtakeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.m)
	f.count.Store(0)
}
