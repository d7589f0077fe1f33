package cache

// sieve chooses the entry to evict, as in "SIEVE is Simpler than LRU" (Zhang et al., NSDI
// 2024). Slots are in a list by age. A lookup only marks a slot as used. To evict, a hand
// moves from older to newer slots, clears the marks on the way, and stops at the first
// unmarked slot. Guarded by the stripe's mu.
type sieve[K comparable] struct {
	newest, oldest uint32 // 0 if empty
	hand           uint32 // where the next search begins; 0 for the oldest
	len            int
}

// push adds slot n as the newest.
func (v *sieve[K]) push(s *slots[K], n uint32) {
	u := s.use(n)
	u.newer, u.older, u.linked = 0, v.newest, true
	u.used.Store(false)
	if v.newest != 0 {
		s.use(v.newest).newer = n
	} else {
		v.oldest = n
	}
	v.newest = n
	v.len++
}

// remove removes slot n, if present.
func (v *sieve[K]) remove(s *slots[K], n uint32) {
	u := s.use(n)
	if !u.linked {
		return
	}
	if v.hand == n {
		v.hand = u.newer
	}
	if u.newer != 0 {
		s.use(u.newer).older = u.older
	} else {
		v.newest = u.older
	}
	if u.older != 0 {
		s.use(u.older).newer = u.newer
	} else {
		v.oldest = u.newer
	}
	u.linked = false
	v.len--
}

// evict removes and returns a slot that was not used recently, except the slot
// keep. The sieve must have another slot.
func (v *sieve[K]) evict(s *slots[K], keep uint32) uint32 {
	for n := v.hand; ; { // Ends: the second round finds unmarked slots, unless lookups are faster.
		if n == 0 {
			n = v.oldest
		}
		u := s.use(n)
		if n != keep && !u.used.Load() {
			v.hand = n
			v.remove(s, n) // moves the hand on
			return n
		}
		if n != keep {
			u.used.Store(false)
		}
		n = u.newer
	}
}
