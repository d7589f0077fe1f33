package cache

import (
	"iter"
	"time"

	"github.com/puzpuzpuz/xsync/v4"
)

// Get returns the value stored under key. An entry can be found until the timer expires the
// entry or, with ExactExpiry or Sliding, until the due time. Get takes constant time and
// does not allocate. Get takes no lock, except for an entry that is due and not removed
// yet. After Close, Get finds no entry.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	it, ok := c.find(key)
	c.count(ok)
	if !ok {
		return value, false
	}
	return it.value, true
}

// count counts a hit or a miss.
func (c *Cache[K, V]) count(hit bool) {
	if cell := c.lookups.cell(); hit {
		cell.hits.Add(1)
	} else {
		cell.misses.Add(1)
	}
}

// Peek is a Get that is not a use of the entry, and that [Stats] does not count. Peek
// neither postpones the expiry of the entry nor keeps the entry from being evicted.
func (c *Cache[K, V]) Peek(key K) (value V, ok bool) {
	if !c.check.OK(key) {
		return value, false
	}
	it, ok := c.items.Load(key)
	if ok {
		it, _, ok = c.left(key, it)
	}
	if !ok {
		return value, false
	}
	return it.value, true
}

// find returns the item of key if the item is alive, and records the use.
func (c *Cache[K, V]) find(key K) (item[V], bool) {
	if !c.check.OK(key) {
		return item[V]{}, false
	}
	it, ok := c.items.Load(key)
	switch {
	case !ok:
		return it, false
	case c.options.Sliding > 0:
		if it, ok = c.postpone(key, it); !ok {
			return it, false
		}
	case c.denies(it.deadline):
		if it, ok = c.current(key); !ok {
			return it, false
		}
	}
	if c.options.Limit > 0 {
		markUsed(c.stripeOf(it.ref).slots.use(it.ref.slot()))
	}
	return it, true
}

// current returns the item of key if the item is alive. A Set or Touch may have replaced
// the item that a lookup has loaded before the lookup read the clock. Under the lock of the
// bucket, either current finds the new item, or a later Touch finds that the old one has
// expired.
func (c *Cache[K, V]) current(key K) (it item[V], ok bool) {
	c.items.Compute(key, func(now item[V], known bool) (item[V], xsync.ComputeOp) {
		it, ok = now, known && c.alive(now)
		return now, xsync.CancelOp
	})
	return it, ok
}

// markUsed marks a slot as used. markUsed writes only an unmarked slot, so that lookups of
// the same key do not slow each other down. The slot may have been freed or dropped since; a
// superfluous mark does no harm.
func markUsed(u *use) {
	if u != nil && !u.used.Load() {
		u.used.Store(true)
	}
}

// slidingSteps bounds the number of uses of an entry that are recorded in the time of Sliding.
// An entry may live longer by 1/slidingSteps of the sliding time.
const slidingSteps = 1 << 10

// postpone makes the item of key due Sliding from now, but not past the item's deadline.
// postpone returns the item and true, unless the item has expired.
func (c *Cache[K, V]) postpone(key K, it item[V]) (item[V], bool) {
	now := c.now()
	least := after(now, c.options.Sliding)
	most := after(least, c.options.Sliding/slidingSteps)
	for { // Ends: a failed attempt means that a use, a Set or an end came first.
		idle, due, ok := c.idle(it)
		switch {
		case !ok:
			if it, ok = c.items.Load(key); !ok {
				return it, false
			}
		case due <= now: // dead, so that a lookup with an earlier reading of the clock does not postpone the item
			if due != dead && !idle.due.CompareAndSwap(due, dead) {
				continue
			}
			ended := it.ref
			if it, ok = c.items.Load(key); !ok || it.ref == ended {
				return it, false
			}
		case due >= min(least, it.deadline) || idle.due.CompareAndSwap(due, min(most, it.deadline)):
			return it, true
		}
	}
}

// idle returns the due time of an item and the place that stores the due time. idle returns
// false if the item has left the map.
func (c *Cache[K, V]) idle(it item[V]) (idle *idleDue, due int64, ok bool) {
	idle = c.stripeOf(it.ref).slots.idle(it.ref.slot())
	if idle == nil {
		return nil, 0, false
	}
	due = idle.due.Load()
	return idle, due, idle.gen.Load() == uint32(it.ref.gen()) // after due: so due is not another entry's
}

// TTL returns the time until the entry of key expires without a use or a change, or
// [NoExpiry]. TTL is not a use of the entry.
func (c *Cache[K, V]) TTL(key K) (left time.Duration, ok bool) {
	if !c.check.OK(key) {
		return 0, false
	}
	it, ok := c.items.Load(key)
	if !ok {
		return 0, false
	}
	_, left, ok = c.left(key, it)
	return left, ok
}

// left returns the current item of key, either the given item or a replacement, and the time
// until the current item expires. left returns false if the item has expired or left the map.
func (c *Cache[K, V]) left(key K, it item[V]) (_ item[V], left time.Duration, ok bool) {
	for { // Ends: a failed attempt means that a Set, a Touch or an end came first.
		due, ok := it.deadline, true
		if c.options.Sliding > 0 {
			_, due, ok = c.idle(it)
		}
		if ok && due == never {
			return it, NoExpiry, true
		}
		left := time.Duration(max(due, 0) - c.now())
		if ok && (left > 0 || !c.denies(due)) {
			return it, max(left, 0), true
		}
		if it, ok = c.current(key); !ok {
			return it, 0, false
		}
	}
}

// Len returns the number of entries that have not been removed. Len takes constant time.
func (c *Cache[K, V]) Len() int {
	n := max(c.items.Size(), 0)
	if c.options.Limit > 0 {
		n = min(n, c.options.Limit) // a Set exceeds the limit for a moment
	}
	return n
}

// All yields the entries, in no order, each key at most once. The loop may use the cache.
// Concurrent changes may or may not be seen. The loop is not a use of the entries.
func (c *Cache[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		c.items.Range(func(key K, it item[V]) bool {
			it, _, ok := c.left(key, it)
			return !ok || yield(key, it.value)
		})
	}
}
