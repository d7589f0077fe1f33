package cache

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/hashedwheel/hwt/keyed"
)

// entry is what the wheel holds for a key. It is kept small, so that look-ups hand
// it on in registers.
type entry[K comparable, V any] struct {
	value V
	node  *node[K] // nil without a limit, unless expiry is exact
}

// dropped is an entry that was evicted, or the zero value if none was.
type dropped[K comparable, V any] struct {
	key   K
	value V
	ok    bool
}

// store puts the entry into the wheel and makes room for it. Under s.mu.
func (c *Cache[K, V]) store(s *stripe[K, V], key K, value V, expire time.Duration) (d dropped[K, V], err error) {
	if expire <= 0 {
		return d, c.remove(s, key)
	}
	delay := c.spread(expire)
	if c.limit == 0 && !c.exact {
		return d, c.schedule(key, entry[K, V]{value, nil}, delay)
	}
	// A new node, because the old entry may be just expiring (C3).
	e := entry[K, V]{value, &node[K]{key: key}}
	if c.exact {
		e.node.deadline = c.deadline(delay) // no later than the timeout's, which is taken next
	}
	old, known := c.wheel.Get(key)
	if err := c.schedule(key, e, delay); err != nil {
		return d, err
	}
	if c.limit == 0 {
		return d, nil
	}
	if known {
		s.uses.remove(old.node)
	}
	s.uses.push(e.node)
	if s.uses.len > c.limit {
		d = c.evict(s)
	}
	return d, nil
}

// schedule is the wheel's SetTimer.
func (c *Cache[K, V]) schedule(key K, e entry[K, V], delay time.Duration) error {
	return ownError(c.wheel.SetTimer(key, e, delay))
}

// remove takes the entry of key out, if there is one. Under s.mu.
func (c *Cache[K, V]) remove(s *stripe[K, V], key K) error {
	if e, ok := c.wheel.Get(key); ok && c.limit > 0 {
		s.uses.remove(e.node)
	}
	return ownError(c.wheel.RemoveTimer(key))
}

// ownError turns an error of the wheel into one of this package. Keys have been
// checked.
func ownError(err error) error {
	if errors.Is(err, keyed.ErrClosed) {
		return ErrClosed
	}
	return err
}

// evict drops the longest unused entry. Under s.mu.
func (c *Cache[K, V]) evict(s *stripe[K, V]) (d dropped[K, V]) {
	oldest := s.uses.oldest()
	s.uses.remove(oldest)
	e, ok := c.wheel.Get(oldest.key)
	if !ok || e.node != oldest { // expired already (C3)
		return d
	}
	if removed, _ := c.wheel.Remove(oldest.key); !removed {
		return d // expired just now
	}
	c.evictions.Add(1)
	return dropped[K, V]{oldest.key, e.value, true}
}

// use notes that the entry of n was used.
func (c *Cache[K, V]) use(n *node[K]) {
	s := &c.stripes.all[0]
	s.mu.Lock()
	s.uses.use(n)
	s.mu.Unlock()
}

// expired is the wheel's callback: the entry is out of it.
func (c *Cache[K, V]) expired(key K, e entry[K, V]) {
	c.expirations.Add(1)
	if c.limit > 0 {
		s := &c.stripes.all[0]
		s.mu.Lock()
		s.uses.remove(e.node)
		s.mu.Unlock()
	}
	if c.onEvict != nil {
		c.onEvict(key, e.value)
	}
}

// tellEvicted tells the callback, in isolation.
func (c *Cache[K, V]) tellEvicted(d dropped[K, V]) {
	if !d.ok || c.onEvict == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			c.logger.Error("cache: WithOnEvict's function panicked", "cache", c.name, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	c.onEvict(d.key, d.value)
}

// now returns the nanoseconds since the cache's start, by the monotonic clock.
func (c *Cache[K, V]) now() int64 { return int64(time.Since(c.start)) }

func (c *Cache[K, V]) deadline(delay time.Duration) int64 {
	now := c.now()
	return now + min(int64(delay), math.MaxInt64-now)
}

// spread returns expire, give or take the jitter.
func (c *Cache[K, V]) spread(expire time.Duration) time.Duration {
	if c.jitter == 0 {
		return expire
	}
	spread := float64(expire) * c.jitter * (2*rand.Float64() - 1)
	if spread >= float64(math.MaxInt64-expire) {
		return math.MaxInt64
	}
	return expire + time.Duration(spread)
}
