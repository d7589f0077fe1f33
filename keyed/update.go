package keyed

// update is a running call of Update for a pair.
type update[K comparable, V any] struct {
	pair  *pair[K, V]   // Immutable.
	stale bool          // the value has changed since. Guarded by the stripe's mu.
	next  *update[K, V] // in the list of the stripe. Guarded by the stripe's mu.
}

// Update replaces the value of key by the result of f, and keeps the due time. Update
// reports whether there was a pair. After Close, Update finds no pair.
//
// f runs without locks and may use the wheel. If the pair changes while f runs, Update
// calls f again with the new value, or returns false if there is no pair any more. Update
// takes constant time and one allocation per call of f.
func (w *Wheel[K, V]) Update(key K, f func(value V) V) (updated bool) {
	if w.usable(key) != nil {
		return false
	}
	for known := true; known && !updated; { // Ends: an Update in vain has seen a change by another operation.
		known, updated = w.update(key, f)
	}
	return updated
}

// update calls f with the value of key, and sets the result unless the pair has
// changed or ended since.
func (w *Wheel[K, V]) update(key K, f func(value V) V) (known, updated bool) {
	s, h := w.stripe(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	p, _ := s.find(h, key)
	if p == nil {
		return false, false
	}
	u := &update[K, V]{pair: p, next: s.updates}
	s.updates = u
	defer s.forget(u)
	value := s.unlocked(f, p.value)
	if now, _ := s.find(h, key); now != p || u.stale {
		return true, false
	}
	s.change(p, value) // Linearization point of Update.
	return true, true
}

// unlocked calls f without the lock that the caller holds.
func (s *stripe[K, V]) unlocked(f func(value V) V, value V) V {
	s.mu.Unlock()
	defer s.mu.Lock()
	return f(value)
}

// forget removes u from the running Updates. The caller holds mu.
func (s *stripe[K, V]) forget(u *update[K, V]) {
	link := &s.updates
	for *link != u {
		link = &(*link).next
	}
	*link = u.next
}

// change gives p another value. The caller holds mu.
func (s *stripe[K, V]) change(p *pair[K, V], value V) {
	p.value = value
	for u := s.updates; u != nil; u = u.next {
		u.stale = u.stale || u.pair == p
	}
}
