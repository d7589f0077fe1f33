package cache

import "github.com/puzpuzpuz/xsync/v4"

// Delete removes the entry of key, and reports whether key had an entry. Delete takes
// constant time.
func (c *Cache[K, V]) Delete(key K) (deleted bool) {
	_, deleted = c.GetAndDelete(key)
	return deleted
}

// GetAndDelete is Delete that also returns the value of the entry.
func (c *Cache[K, V]) GetAndDelete(key K) (value V, ok bool) {
	if !c.check.OK(key) {
		return value, false
	}
	var out ended[K, V]
	c.items.Compute(key, func(it item[V], known bool) (item[V], xsync.ComputeOp) {
		c.flights.overtake(key) // (C5)
		if !known {
			return it, xsync.CancelOp
		}
		reason := ReasonDeleted
		if !c.alive(it) {
			reason = ReasonExpired
		}
		c.stripeOf(it.ref).remove(it.ref.slot())
		out = c.ended(key, it, reason)
		return it, xsync.DeleteOp // Linearization point of Delete and GetAndDelete.
	})
	c.notify(out)
	if out.reason == ReasonDeleted {
		return out.value, true
	}
	return value, false
}

// DeleteFunc calls f with each entry, deletes the entries for which f returns true, and returns
// the number of deleted entries. If a value is replaced while f runs, the entry stays. f runs
// on the caller's goroutine and may use the cache. The call is not a use of the entries.
//
// Like Clear, DeleteFunc overtakes all fetches, since f cannot judge values that are not
// fetched yet. DeleteFunc takes time proportional to the number of entries.
func (c *Cache[K, V]) DeleteFunc(f func(key K, value V) bool) (deleted int) {
	c.deleters.Add(1) // before the first look at an entry (C6)
	defer c.deleters.Add(-1)
	c.flights.overtakeAll()
	c.items.Range(func(key K, it item[V]) bool {
		it, _, ok := c.left(key, it)
		if !ok || !f(key, it.value) {
			return true
		}
		out := c.remove(key, it.ref, ReasonDeleted)
		if out.reason == ReasonDeleted {
			deleted++
		}
		c.notify(out)
		return true
	})
	return deleted
}

// Clear removes all entries. Entries that lookups no longer find count as expired. Clear
// takes time proportional to the number of entries.
func (c *Cache[K, V]) Clear() { c.clear(ReasonDeleted, c.denied()) }

// lastKeys is the number of keys that clear removes one by one. Each makes the map
// half as large; DeleteMatching alone would do so once.
const lastKeys = 32

// clear removes all entries for reason, or as expired if due by denied, and overtakes all
// fetches.
func (c *Cache[K, V]) clear(reason Reason, denied int64) {
	c.flights.overtakeAll() // Linearization point of Clear.
	var out []ended[K, V]
	remove := func(key K, it item[V]) {
		reason := reason
		if c.due(it) <= denied {
			reason = ReasonExpired
		}
		c.stripeOf(it.ref).remove(it.ref.slot())
		if e := c.ended(key, it, reason); c.options.OnEvict != nil {
			out = append(out, e)
		}
	}
	var last []K
	c.items.DeleteMatching(func(key K, it item[V]) (matches, stop bool) {
		if len(last) < lastKeys {
			last = append(last, key)
			return false, false
		}
		remove(key, it)
		return true, false
	})
	for _, key := range last {
		c.items.Compute(key, func(it item[V], known bool) (item[V], xsync.ComputeOp) {
			if known {
				remove(key, it)
			}
			return it, xsync.DeleteOp
		})
	}
	c.notifyAll(out)
}

// notifyAll calls OnEvict for all. If a call ends the goroutine, a new goroutine continues.
func (c *Cache[K, V]) notifyAll(all []ended[K, V]) {
	defer func() {
		if len(all) > 0 {
			go c.notifyAll(all)
		}
	}()
	for len(all) > 0 {
		e := all[0]
		all = all[1:]
		c.notify(e)
	}
}
