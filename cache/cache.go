package cache

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/check"
)

// Cache holds values until they expire. Create a Cache with [New] and close it with
// [Cache.Close]. All methods are safe for concurrent use, including in callbacks and
// fetches.
type Cache[K comparable, V any] struct {
	options Options[K, V] // Immutable after New.
	ttl     time.Duration // Immutable after New.
	exact   bool          // lookups always compare deadlines. Immutable after New.
	own     hwt.Timer     // nil if the timer is the caller's. Immutable after New.
	start   time.Time     // time zero of all deadlines. Immutable after New.
	check   check.Keys[K] // Immutable after New.

	items   *xsync.Map[K, item[V]] // See the ground rules in item.go.
	stripes stripes[K]
	flights flights[K, V]
	alarm   alarm
	closed  atomic.Bool // Atomic: written by Close, read by the methods that store.

	// Twice the time by which due entries count as expired, plus the bit unarmed. denial only
	// grows, apart from the bit. Atomic: written by noteTimer and by lookups that read the
	// clock.
	denial atomic.Int64

	deleters atomic.Int32 // number of running calls of DeleteFunc and Update (C6). Atomic: written by both, read by Set.

	lookups                lookups      // Atomic: written by lookups, read by Stats.
	evictions, expirations atomic.Int64 // Atomic: written where entries end, read by Stats.
}

// New returns an empty cache. An entry expires ttl after its Set, or never if ttl is
// [NoExpiry]. Nil options mean the defaults. New returns an error if ttl is not positive or an
// option is outside its range.
//
// A cache that is abandoned without Close becomes garbage after the last entry has expired.
// The timer that New created is then reported as a leak.
func New[K comparable, V any](ttl time.Duration, options *Options[K, V]) (*Cache[K, V], error) {
	if err := check.Positive("cache", "New", "ttl", ttl); err != nil {
		return nil, err
	}
	o, err := complete(options)
	if err != nil {
		return nil, err
	}
	c := &Cache[K, V]{
		options: o,
		ttl:     ttl,
		exact:   o.ExactExpiry || o.Sliding > 0,
		start:   time.Now(),
		check:   check.KeysOf[K](),
		items:   xsync.NewMap[K, item[V]](),
		stripes: newStripes[K](o.Limit > 0, o.Sliding > 0),
		lookups: newLookups(),
	}
	timer := o.Timer
	if timer == nil {
		if timer, err = hashedwheel.New(&hashedwheel.Options{Name: o.Name, Logger: o.Logger}); err != nil {
			return nil, err
		}
		c.own = timer
	}
	c.alarm.timer, c.alarm.ring, c.alarm.refused = timer, c.expireDue, c.refused
	c.alarm.due.Store(never)
	return c, nil
}

// Close removes all entries, calls OnEvict for each, and stops the timer that the cache
// created; no goroutine remains once a running callback has returned. Entries that lookups
// no longer find count as expired. Close does not stop a timer from [Options]. After Close,
// Get finds no entry, and Set and GetOrFetch return ErrClosed. A running fetch still
// returns the value to the callers.
//
// Calls after the first have no effect. Callbacks may call Close. It implements
// [io.Closer] and always returns nil.
func (c *Cache[K, V]) Close() error {
	if c.closed.Swap(true) { // Linearization point of Close.
		return nil
	}
	denied := c.denied() // lookups compare deadlines once the alarm has ended
	c.alarm.end()
	if c.own != nil {
		c.own.Stop()
	}
	c.clear(ReasonClosed, denied)
	return nil
}

// String returns the name of the cache and the number of entries.
func (c *Cache[K, V]) String() string {
	return fmt.Sprintf("cache.Cache(%s, %d entries)", c.options.Name, c.Len())
}
