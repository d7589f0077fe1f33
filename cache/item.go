package cache

import (
	"math"
	"time"
)

// Ground rules
//
// The map defines the content of the cache. The stripes only know when to look at an
// entry, and which entry to evict.
//
//	C1. An entry is in the cache while its item is in the map. It ends when the item is deleted
//	    or replaced, and the code that does so reports the end. An entry ends once.
//	C2. The map changes only inside Compute and DeleteMatching. Both hold the lock of the key's
//	    bucket. User code never runs there.
//	C3. Every item has a slot. The slot belongs to the item from the Compute that stores the
//	    item to the Compute that deletes it, or until after the Compute that replaces it by an
//	    item with another slot. A slot is found again by its ref. The generation of the ref
//	    changes when the slot is freed. If the slot was freed, a lookup finds the next item of
//	    the key, or an entry that is ending.
//	C4. A slot is filed in its stripe's wheel no later than its item is due. The
//	    alarm is armed no later than the earliest bucket of all wheels, or lookups
//	    compare deadlines (see denial). An item that never expires is not filed.
//	C5. A flight is in flights while its result may be stored. A Set or Delete removes it in the
//	    same Compute that changes the item. A value that was fetched before them is not stored
//	    after them.
//	C6. A Set of a known key keeps the item's ref, unless a DeleteFunc or Update runs. To these
//	    functions, equal refs mean that the entry still has the value that they have seen. A Set
//	    that overlooks them began before, and holds the lock of the bucket until they can see
//	    its result: Update looks under the lock.
//	C7. An entry that Get or Touch has denied is not found again. With Sliding, the
//	    lookup has marked it as dead. Otherwise only Touch postpones it, and the
//	    lookup looks again under the lock that Touch holds.
//
// Lock order: the map's bucket, then a stripe's mu or flights.mu, then the
// alarm's mu. User code runs without locks.

// never is the due time of an item that does not expire.
const never = math.MaxInt64

// NoExpiry is the TTL of entries that never expire.
const NoExpiry time.Duration = math.MaxInt64

// item is the map's value for a key. Immutable. Times are nanoseconds since the
// cache's start.
type item[V any] struct {
	value    V
	deadline int64 // when the TTL ends, or never
	ref      ref
}

// now returns the nanoseconds since the cache's start, by the monotonic clock.
func (c *Cache[K, V]) now() int64 { return int64(time.Since(c.start)) }

// after returns the time d after now, or never.
func after(now int64, d time.Duration) int64 {
	if int64(d) >= never-max(now, 0) {
		return never
	}
	return now + int64(d)
}

// unarmed is the bit of denial that is set while the alarm is not armed. Lookups then read
// the clock.
const unarmed = 1

// denied returns the time by which items that are due count as expired.
func (c *Cache[K, V]) denied() int64 {
	if now := c.now(); c.denies(now) {
		return now
	}
	return c.denial.Load() >> 1
}

// denies reports whether an item that is due at due counts as expired. An expired item
// counts as expired at all later lookups.
func (c *Cache[K, V]) denies(due int64) bool { return c.deniesBy(c.denial.Load(), due) }

// deniesBy is denies for a lookup that has read denial.
func (c *Cache[K, V]) deniesBy(denial, due int64) bool {
	for { // Ends: a failed swap means that another lookup denied an item, or that the alarm changed.
		switch {
		case due <= denial>>1:
			return true
		case !c.exact && denial&unarmed == 0 && (c.own != nil || !c.alarm.stopped()):
			return false // only the timer expires the entry
		case due > c.now():
			return false
		case denial&unarmed == 0 || c.denial.CompareAndSwap(denial, due<<1|unarmed):
			return true
		}
		denial = c.denial.Load()
	}
}

// alive reports whether an item has not expired. The caller holds the lock of the item's
// bucket.
func (c *Cache[K, V]) alive(it item[V]) bool { return !c.denies(c.due(it)) }

// due returns the time at which an item expires. The caller holds the lock of the item's
// bucket.
func (c *Cache[K, V]) due(it item[V]) int64 {
	if c.options.Sliding > 0 {
		return c.stripeOf(it.ref).slots.idle(it.ref.slot()).due.Load()
	}
	return it.deadline
}
