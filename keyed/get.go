package keyed

// Get returns the value pending under key. Get takes constant time and allocates nothing.
// After Close, Get finds no pair.
func (w *Wheel[K, V]) Get(key K) (value V, ok bool) {
	w.look(key, func(p *pair[K, V]) { value, ok = p.value, true })
	return value, ok
}

// Has reports whether a pair is pending under key, at the cost of Get.
func (w *Wheel[K, V]) Has(key K) (ok bool) {
	w.look(key, func(*pair[K, V]) { ok = true })
	return ok
}

// Len returns the number of pending pairs. The number is approximate under concurrent
// changes. Len takes time proportional to the number of processors.
func (w *Wheel[K, V]) Len() int {
	n := int64(0)
	for i := range w.stripes {
		n += w.stripes[i].n.Load()
	}
	return int(n)
}

// look calls f with the pair of key, if there is one, under the lock of the stripe.
func (w *Wheel[K, V]) look(key K, f func(*pair[K, V])) {
	if w.usable(key) != nil {
		return
	}
	s, h := w.stripe(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, _ := s.find(h, key); p != nil {
		f(p)
	}
}
