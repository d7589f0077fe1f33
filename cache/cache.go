package cache

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/keys"
	"github.com/hashedwheel/hwt/keyed"
)

// Cache holds values for a time. Make one with New, and Close it; all methods
// are safe for concurrent use, also from inside callbacks and fetches.
type Cache[K comparable, V any] struct {
	name                   string                       // Immutable after New.
	expire                 time.Duration                // Immutable after New.
	jitter                 float64                      // Immutable after New.
	limit                  int                          // Immutable after New.
	exact                  bool                         // Immutable after New.
	onEvict                func(K, V)                   // nil if not wanted. Immutable after New.
	logger                 *slog.Logger                 // Immutable after New.
	own                    hwt.Timer                    // nil if the timer is the caller's. Immutable after New.
	start                  time.Time                    // Immutable after New. Time zero of all deadlines.
	check                  keys.Check[K]                // Immutable after New.
	wheel                  *keyed.Wheel[K, entry[K, V]] // see the ground rules in stripe.go.
	stripes                stripes[K, V]                // see the ground rules in stripe.go.
	closed                 atomic.Bool                  // Atomic: written by Close, read by Take.
	lookups                tally                        // Atomic: written by Get and Take, read by Stats.
	evictions, expirations atomic.Int64                 // Atomic: written where entries are dropped, read by Stats.
}

// New returns an empty cache whose entries expire after expire, which must be
// positive, give or take the jitter. An option out of its range is an error.
//
// A cache that was dropped without Close goes when its last entry has expired,
// and its own timer with it, which reports a leak.
func New[K comparable, V any](expire time.Duration, options ...Option) (*Cache[K, V], error) {
	if expire <= 0 {
		return nil, fmt.Errorf("cache: New: expire is %v (expected: > 0)", expire)
	}
	config, err := newConfig(options)
	if err != nil {
		return nil, err
	}
	onEvict, err := onEvictOf[K, V](config)
	if err != nil {
		return nil, err
	}
	c := &Cache[K, V]{
		name:    config.name,
		expire:  expire,
		jitter:  config.jitter,
		limit:   config.limit,
		exact:   config.exact,
		onEvict: onEvict,
		logger:  slog.Default(),
		start:   time.Now(),
		check:   keys.For[K](),
		stripes: newStripes[K, V](config.limit),
		lookups: newTally(),
	}
	if err := c.mount(config.timer); err != nil {
		return nil, err
	}
	return c, nil
}

// mount puts the cache on timer, or on a wheel of its own if that is nil.
func (c *Cache[K, V]) mount(timer hwt.Timer) (err error) {
	if timer == nil {
		if timer, err = hashedwheel.New(hashedwheel.WithName(c.name)); err != nil {
			return err
		}
		c.own = timer
	}
	c.wheel, err = keyed.New(timer, c.expired)
	return err
}

// Set stores value under key, for the time given to New. It takes constant time
// and does not wait for fetches or callbacks of others; an entry that has to go
// for the new one is told to WithOnEvict's function before Set returns.
//
// It returns ErrClosed, ErrKey, or the error of the timer's NewTimeout; then the
// cache is as before.
func (c *Cache[K, V]) Set(key K, value V) error {
	return c.SetWithExpire(key, value, c.expire)
}

// SetWithExpire is Set with a time of its own, give or take the jitter. A time of
// zero or less is over already: what was stored under key goes, as with Del.
func (c *Cache[K, V]) SetWithExpire(key K, value V, expire time.Duration) error {
	if !c.check.OK(key) {
		return ErrKey
	}
	s := c.stripes.of(key)
	s.mu.Lock()
	dropped, err := c.store(s, key, value, expire)
	if err == nil {
		delete(s.flights, key) // what is being fetched is overtaken (C2)
	}
	s.mu.Unlock()
	c.tellEvicted(dropped)
	return err
}

// Get returns the value stored under key, until the timer ends its time; see
// WithExactExpiry for more than that. It takes constant time and allocates
// nothing, and takes no lock unless there is a limit. After Close it finds
// nothing.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	e, ok := c.find(key)
	if !ok {
		c.lookups.cell().misses.Add(1)
		return value, false
	}
	if c.limit > 0 {
		c.use(e.node)
	}
	c.lookups.cell().hits.Add(1)
	return e.value, true
}

// find returns the entry of key, if Get may return it.
func (c *Cache[K, V]) find(key K) (entry[K, V], bool) {
	e, ok := c.wheel.Get(key)
	return e, ok && (!c.exact || e.node.deadline > c.now())
}

// Del removes the entry of key, if there is one, without a word to WithOnEvict's
// function. It takes constant time.
func (c *Cache[K, V]) Del(key K) {
	if !c.check.OK(key) {
		return
	}
	s := c.stripes.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.flights, key) // what is being fetched is overtaken (C2)
	c.remove(s, key)
}

// Len returns how many entries the timer has not ended. It takes constant time.
func (c *Cache[K, V]) Len() int {
	n := c.wheel.Len()
	if c.limit > 0 {
		n = min(n, c.limit) // a Set is over it for a moment
	}
	return n
}

// Close drops all entries, and stops the cache's own timer: no goroutine is
// left, once a callback that is running has returned. A timer that WithTimer
// brought goes on. From now on Get finds nothing, Set and Take return ErrClosed,
// and Del does nothing. A fetch under way returns its value to its callers.
//
// Every call after the first does nothing. Close may be called from inside a
// callback.
func (c *Cache[K, V]) Close() {
	c.closed.Store(true)
	c.wheel.Stop()
	if c.own != nil {
		c.own.Stop()
	}
	for i := range c.stripes.all {
		s := &c.stripes.all[i]
		s.mu.Lock()
		s.uses.clear()
		s.mu.Unlock()
	}
}

// String names the cache and tells how many entries it has.
func (c *Cache[K, V]) String() string {
	return fmt.Sprintf("cache.Cache(%s, %d entries)", c.name, c.Len())
}
