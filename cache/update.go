package cache

// Update replaces the value of key by the result of f, and keeps the TTL: the entry expires
// as without the Update. With Sliding, the Update restarts the idle time. Update is a use
// of the entry, and overtakes a running fetch as Set does. Update reports whether key had
// an entry; it does not revive an expired entry.
//
// f runs without locks and may use the cache. If the value changes while f runs, Update
// calls f again with the new value, or returns false if key has no entry any more.
//
// Like Set, Update returns ErrClosed, ErrInvalidKey, or an error of the timer's NewTimeout.
// Update returns an error that matches [hwt.ErrInvalid] if f is nil.
func (c *Cache[K, V]) Update(key K, f func(value V) V) (updated bool, err error) {
	if f == nil {
		return false, errNilFunc("Update", "f")
	}
	if err := c.usable(key); err != nil {
		return false, err
	}
	c.deleters.Add(1) // before the first look at the entry (C6)
	defer c.deleters.Add(-1)
	for known := true; known && !updated && err == nil; { // Ends: an Update in vain has seen a change by another operation.
		var it item[V]
		if it, known = c.current(key); known {
			updated, err = c.put(write[V]{value: f(it.value), replaces: it.ref}, key)
		}
	}
	return updated, err
}

// usable returns ErrClosed, ErrInvalidKey, or nil.
func (c *Cache[K, V]) usable(key K) error {
	if !c.check.OK(key) {
		return ErrInvalidKey
	}
	if c.closed.Load() {
		return ErrClosed
	}
	return nil
}
