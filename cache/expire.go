package cache

import (
	"errors"
	"math"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// expireDue removes due entries and arms the alarm for the next. The alarm calls expireDue.
func (c *Cache[K, V]) expireDue() {
	defer func() { c.noteTimer(c.rearm()) }() // even if OnEvict ends the goroutine
	now := c.now()
	for i := range c.stripes.all {
		s := &c.stripes.all[i]
		for more := true; more; {
			var key K
			var n uint32
			var gen uint16
			if key, n, gen, more = s.pop(now); n != 0 {
				c.notify(c.expire(key, newRef(i, gen, n), now))
			}
		}
	}
}

// expire removes the entry of r if the entry is due, and otherwise files the slot of r
// again.
func (c *Cache[K, V]) expire(key K, r ref, now int64) (out ended[K, V]) {
	s := c.stripeOf(r)
	c.items.Compute(key, func(it item[V], known bool) (item[V], xsync.ComputeOp) {
		if !known || it.ref != r {
			return it, xsync.CancelOp // the entry has ended (C3)
		}
		if due, ended := c.end(it, now); !ended {
			s.reinsert(r.slot(), due)
			return it, xsync.CancelOp
		}
		s.remove(r.slot())
		out = c.ended(key, it, ReasonExpired)
		return it, xsync.DeleteOp // Linearization point of expiry.
	})
	return out
}

// dead is the due time of a sliding entry that has expired.
const dead = math.MinInt64

// end reports whether the item is due at now. If so, end ends the item, and no lookup
// postpones the item any more. If not, end returns the due time.
func (c *Cache[K, V]) end(it item[V], now int64) (due int64, ended bool) {
	if c.options.Sliding == 0 {
		return it.deadline, it.deadline <= now
	}
	idle := c.stripeOf(it.ref).slots.idle(it.ref.slot())
	for { // Ends: a failed swap means that a lookup has postponed the item.
		if due = idle.due.Load(); due > now || idle.due.CompareAndSwap(due, dead) {
			return due, due <= now
		}
	}
}

// rearm arms the alarm for the entry that is due next.
func (c *Cache[K, V]) rearm() error {
	next := int64(never)
	for i := range c.stripes.all {
		next = min(next, c.stripes.all[i].next())
	}
	return c.alarm.arm(next, c.now())
}

// noteTimer records whether the timer expires the entries: err is nil after the timer
// accepted the alarm, and otherwise the timer's error.
func (c *Cache[K, V]) noteTimer(err error) {
	if err == nil {
		c.noteArmed()
		return
	}
	if before := c.denial.Or(unarmed); before&unarmed != 0 || c.closed.Load() || errors.Is(err, hwt.ErrStopped) {
		return
	}
	c.options.Logger.Warn("cache: timer rejects the timeout that expires entries; lookups compare deadlines instead",
		"cache", c.options.Name, "error", err)
}

// noteArmed lets lookups rely on the timer again. Denied entries, and entries that a lookup
// would deny now, stay denied.
func (c *Cache[K, V]) noteArmed() {
	now := c.now()
	for { // Ends: a failed swap means that a lookup has denied an entry, or that the alarm changed.
		denial := c.denial.Load()
		if denial&unarmed == 0 || c.denial.CompareAndSwap(denial, max(now, denial>>1)<<1) {
			return
		}
	}
}

// refused is called when the timer's executor has rejected the alarm with err.
func (c *Cache[K, V]) refused(err error) {
	c.noteTimer(err)
	now := c.now()
	_ = c.alarm.arm(after(now, retryDelay), now) // after a failure, the next Set tries again
}

// ended counts the end of an item for reason, and returns the item for notify.
func (c *Cache[K, V]) ended(key K, it item[V], reason Reason) ended[K, V] {
	switch reason {
	case ReasonExpired:
		c.expirations.Add(1)
	case ReasonCapacity:
		c.evictions.Add(1)
	}
	return ended[K, V]{key, it.value, reason}
}

// notify calls OnEvict for the end of an entry, in isolation.
func (c *Cache[K, V]) notify(e ended[K, V]) {
	if e.reason == 0 || c.options.OnEvict == nil {
		return
	}
	usercode.Run(func() { c.options.OnEvict(e.key, e.value, e.reason) }, func(err error) {
		attrs := []any{"cache", c.options.Name, "reason", e.reason, "error", err}
		if p, ok := err.(*hwt.PanicError); ok {
			attrs = append(attrs, "stack", string(p.Stack))
		}
		c.options.Logger.Error("cache: OnEvict failed", attrs...)
	})
}

// makeRoom evicts entries, except the one in the slot keep, until the cache keeps the
// limit.
func (c *Cache[K, V]) makeRoom(keep uint32) {
	s := &c.stripes.all[0]
	for {
		key, r, ok := s.evict(c.options.Limit, keep)
		if !ok {
			return
		}
		c.notify(c.remove(key, r, ReasonCapacity))
	}
}

// remove removes the entry of r for reason, unless the entry has ended.
func (c *Cache[K, V]) remove(key K, r ref, reason Reason) (out ended[K, V]) {
	c.items.Compute(key, func(it item[V], known bool) (item[V], xsync.ComputeOp) {
		if !known || it.ref != r {
			return it, xsync.CancelOp
		}
		if !c.alive(it) {
			reason = ReasonExpired
		}
		c.stripeOf(r).remove(r.slot())
		out = c.ended(key, it, reason)
		return it, xsync.DeleteOp // Linearization point of eviction and of DeleteFunc for an entry.
	})
	return out
}
