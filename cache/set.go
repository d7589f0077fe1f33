package cache

import (
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/hashedwheel/hwt"
)

// Set stores value under key for the TTL given to New. Set takes constant time and does not
// wait for fetches or callbacks of other goroutines. If Options has a Limit, Set evicts
// another entry if necessary; the time is then constant on average, because an eviction
// passes over entries that were used. Set calls OnEvict for the entries that it replaces
// and evicts before it returns.
//
// Set returns ErrClosed, ErrInvalidKey, or an error of the timer's NewTimeout, and then does
// not store value. After an error of the timer, key has no entry.
func (c *Cache[K, V]) Set(key K, value V) error {
	return c.SetWithTTL(key, value, c.ttl)
}

// SetWithTTL is Set with the given TTL. An entry with the TTL [NoExpiry] does not expire. A TTL
// of zero or less is already over: SetWithTTL removes the entry of key. The entry counts as
// replaced.
func (c *Cache[K, V]) SetWithTTL(key K, value V, ttl time.Duration) error {
	_, err := c.put(write[V]{value: value, ttl: ttl}, key)
	return err
}

// SetIfAbsent is Set for a key that has no entry. If key has an entry, SetIfAbsent changes
// nothing and returns false.
func (c *Cache[K, V]) SetIfAbsent(key K, value V) (set bool, err error) {
	return c.put(write[V]{value: value, ttl: c.ttl, ifAbsent: true}, key)
}

// write is a request to store a value.
type write[V any] struct {
	value    V
	ttl      time.Duration
	ifAbsent bool       // store the value only if there is no entry
	flight   *flight[V] // if not nil, store the value only if the flight was not overtaken
	replaces ref        // if not 0, store the value only in place of the item of that slot, and keep the item's TTL

	loaded bool          // by Load: without overtaking a fetch, and without jitter
	idle   time.Duration // with loaded and Sliding, when an unused entry expires
}

// put carries out w for key, and reports whether the value was stored.
func (c *Cache[K, V]) put(w write[V], key K) (stored bool, err error) {
	if !c.check.OK(key) {
		return false, ErrInvalidKey
	}
	var out ended[K, V]
	var added, freed ref
	c.items.Compute(key, func(old item[V], known bool) (it item[V], op xsync.ComputeOp) {
		reason := ReasonReplaced
		if known && !c.alive(old) {
			reason = ReasonExpired
		}
		switch {
		case c.closed.Load():
			err = ErrClosed
			return old, xsync.CancelOp
		case w.ifAbsent && known && reason != ReasonExpired,
			w.replaces != 0 && (!known || old.ref != w.replaces || reason == ReasonExpired):
			return old, xsync.CancelOp
		case w.flight != nil:
			if !c.flights.finish(key, w.flight) {
				return old, xsync.CancelOp
			}
		case w.loaded:
		default:
			c.flights.overtake(key) // (C5)
		}
		if it, added, err = c.place(w, key, old, known); known {
			out = c.ended(key, old, reason)
			if added != 0 {
				freed = old.ref
			}
		}
		stored = err == nil
		if it.ref == 0 {
			return old, xsync.DeleteOp // no effect if key is unknown
		}
		return it, xsync.UpdateOp // Linearization point of Set, SetIfAbsent and GetOrFetch.
	})
	if freed != 0 { // after old left the map, so that lookups find one of the two items (C3)
		c.stripeOf(freed).remove(freed.slot())
	}
	c.notify(out)
	if added != 0 && c.options.Limit > 0 {
		c.makeRoom(added.slot())
	}
	return stored, err
}

// place returns the item for w. The item replaces old if key is known. If the item has a new
// slot, place also returns the ref of that slot, and the caller frees the slot of old. If the
// TTL is over or the timer returns an error, place returns no item, and frees the slot of old.
// The caller holds the lock of the key's bucket.
func (c *Cache[K, V]) place(w write[V], key K, old item[V], known bool) (it item[V], added ref, err error) {
	now := c.now()
	if err = c.timerError(now); err != nil || w.ttl <= 0 && w.replaces == 0 {
		if known {
			c.stripeOf(old.ref).remove(old.ref.slot())
		}
		return item[V]{}, 0, err
	}
	ttl, idle := hwt.Jitter(w.ttl, c.options.Jitter), c.options.Sliding
	if w.loaded {
		ttl, idle = w.ttl, min(w.idle, idle)
	}
	it = item[V]{value: w.value, deadline: after(now, ttl)}
	if w.replaces != 0 {
		it.deadline = old.deadline
	}
	if known && c.options.Sliding == 0 && c.deleters.Load() == 0 {
		it.ref = old.ref
		if err = c.reinsert(old, it.deadline, now); err == nil && c.options.Limit > 0 {
			markUsed(c.stripeOf(it.ref).slots.use(it.ref.slot()))
		}
	} else { // With Sliding, lookups may use the slot of old with the new deadline as a bound.
		it.ref, err = c.add(key, it.deadline, idle, now, old.ref.slot())
		added = it.ref
	}
	if err != nil {
		c.stripeOf(it.ref).remove(it.ref.slot())
		if added != 0 && known {
			c.stripeOf(old.ref).remove(old.ref.slot())
		}
		return item[V]{}, 0, err
	}
	return it, added, nil
}

// add takes a slot for key, in place of the slot old if that is not 0.
func (c *Cache[K, V]) add(key K, deadline int64, idle time.Duration, now int64, old uint32) (r ref, err error) {
	due := deadline
	if c.options.Sliding > 0 {
		due = min(due, after(now, idle))
	}
	i := c.stripes.of(key)
	r, alarm := c.stripes.all[i].add(i, key, due, old)
	return r, c.alarm.arm(alarm, now)
}

// reinsert ensures that the slot of old is examined no later than deadline. An entry that
// is only postponed costs nothing: the slot stays filed for the old deadline, and expireDue
// then reinserts the slot.
func (c *Cache[K, V]) reinsert(old item[V], deadline, now int64) error {
	if deadline >= old.deadline {
		return nil
	}
	return c.alarm.arm(c.stripeOf(old.ref).reinsert(old.ref.slot(), deadline), now)
}

// timerError returns an error if the timer does not expire entries: the timer was stopped,
// rejects the alarm, or has a clock of another synctest bubble.
func (c *Cache[K, V]) timerError(now int64) error {
	if now < 0 {
		return errBubble
	}
	if c.own == nil && c.alarm.stopped() {
		if c.closed.Load() {
			return ErrClosed // Close stopped the timer
		}
		return hwt.ErrStopped
	}
	if c.denial.Load()&unarmed == 0 {
		return nil
	}
	return c.rearm()
}

// Touch restarts the TTL of the entry of key, as given to New. With Sliding, Touch restarts
// only the idle time. Touch is a use of the entry. Touch reports whether key has an entry;
// it does not revive an expired or deleted entry. If the entry would expire earlier than
// before and the timer rejects the earlier time, Touch changes nothing and returns false.
// Touch takes constant time.
func (c *Cache[K, V]) Touch(key K) (touched bool) {
	if c.options.Sliding > 0 {
		_, ok := c.find(key)
		return ok
	}
	if !c.check.OK(key) {
		return false
	}
	c.items.Compute(key, func(it item[V], known bool) (item[V], xsync.ComputeOp) {
		if !known || !c.alive(it) {
			return it, xsync.CancelOp
		}
		now, old := c.now(), it
		if now < 0 { // The clock belongs to another synctest bubble.
			return it, xsync.CancelOp
		}
		it.deadline = after(now, hwt.Jitter(c.ttl, c.options.Jitter))
		if touched = c.reinsert(old, it.deadline, now) == nil; !touched {
			return it, xsync.CancelOp
		}
		if c.options.Limit > 0 {
			markUsed(c.stripeOf(it.ref).slots.use(it.ref.slot()))
		}
		return it, xsync.UpdateOp // Linearization point of Touch.
	})
	return touched
}
