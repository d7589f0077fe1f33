package keyed

// Get returns the value pending under key. It takes constant time and no lock,
// and allocates nothing. After Close it finds no pair.
func (w *Wheel[K, V]) Get(key K) (value V, ok bool) {
	p, ok := w.load(key)
	return p.value, ok
}

// Has reports whether a pair is pending under key, at the cost of Get.
func (w *Wheel[K, V]) Has(key K) bool {
	_, ok := w.load(key)
	return ok
}

// Len returns the number of pending pairs, which is approximate under concurrent
// updates. It takes constant time.
func (w *Wheel[K, V]) Len() int { return max(w.pairs.Size(), 0) }

// load returns the pair of key.
func (w *Wheel[K, V]) load(key K) (p pair[K, V], ok bool) {
	if w.usable(key) != nil {
		return p, false
	}
	return w.pairs.Load(key)
}
