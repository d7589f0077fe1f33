package keyed

import (
	"sync"
	"sync/atomic"

	"github.com/hashedwheel/hwt/internal/cacheline"
)

// minSlots is the least number of slots of a stripe that has had a pair.
const minSlots = 8

// stripe is a part of the table, with a lock: a hash table with linear probing. The home
// of a pair is at the share of the slots that its hash is of 2^32, so the pairs keep
// their order when the table grows, which can therefore be often, by little, and reads
// no pair. At most 17 of 20 slots are used.
type stripe[K comparable, V any] struct {
	mu      sync.Mutex
	hashes  []uint32      // per slot: 0 if it is empty. Guarded by mu.
	pairs   []*pair[K, V] // per slot. Guarded by mu.
	n       atomic.Int64  // number of pairs. Atomic: written under mu, read by Len.
	updates *update[K, V] // running Updates. Guarded by mu.
}

// noHashes are the hashes of an empty stripe.
var noHashes = make([]uint32, 1)

// newStripes returns empty stripes for the number of processors.
func newStripes[K comparable, V any]() []stripe[K, V] {
	stripes := make([]stripe[K, V], cacheline.Stripes(16, 256))
	for i := range stripes {
		stripes[i].hashes = noHashes
	}
	return stripes
}

// home returns the slot at which the search for h begins.
func (s *stripe[K, V]) home(h uint32) int { return int(uint64(h) * uint64(len(s.hashes)) >> 32) }

// after returns the slot after i.
func (s *stripe[K, V]) after(i int) int {
	if i++; i < len(s.hashes) {
		return i
	}
	return 0
}

// find returns the pair of key, whose hash is h, and its slot. p is nil if there is no
// pair. The caller holds mu.
func (s *stripe[K, V]) find(h uint32, key K) (p *pair[K, V], slot int) {
	i := s.home(h)
	for ; s.hashes[i] != 0; i = s.after(i) {
		if s.hashes[i] == h && s.pairs[i].key == key {
			return s.pairs[i], i
		}
	}
	return nil, i
}

// add adds p, whose hash is h and whose key has no pair. The caller holds mu.
func (s *stripe[K, V]) add(h uint32, p *pair[K, V]) {
	if n := int(s.n.Add(1)); 20*n > 17*len(s.hashes) {
		s.resize(n)
	}
	s.put(h, p)
}

// put puts p into the first empty slot from its home on.
func (s *stripe[K, V]) put(h uint32, p *pair[K, V]) {
	i := s.home(h)
	for s.hashes[i] != 0 {
		i = s.after(i)
	}
	s.hashes[i], s.pairs[i] = h, p
}

// remove removes the pair in slot i. Later pairs move into the gap, unless it precedes
// their home. The caller holds mu.
func (s *stripe[K, V]) remove(i int) {
	for j := s.after(i); s.hashes[j] != 0; j = s.after(j) {
		if home := s.home(s.hashes[j]); (j-home+len(s.hashes))%len(s.hashes) >= (j-i+len(s.hashes))%len(s.hashes) {
			s.hashes[i], s.pairs[i] = s.hashes[j], s.pairs[j]
			i = j
		}
	}
	s.hashes[i], s.pairs[i] = 0, nil
	if n := int(s.n.Add(-1)); max(3*n, minSlots) < len(s.hashes) {
		s.resize(n)
	}
}

// resize gives the stripe slots for half more than n pairs.
func (s *stripe[K, V]) resize(n int) {
	hashes, pairs := s.hashes, s.pairs
	size := max(n+n/2, minSlots)
	s.hashes, s.pairs = make([]uint32, size), make([]*pair[K, V], size)
	for i, h := range hashes {
		if h != 0 {
			s.put(h, pairs[i])
		}
	}
}

// removeAll removes all pairs, and returns the slots.
func (s *stripe[K, V]) removeAll() []*pair[K, V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	pairs := s.pairs
	s.hashes, s.pairs = noHashes, nil
	s.n.Store(0)
	return pairs
}

// partLen is the number of slots that All reads under one lock.
const partLen = 256

// part appends to e the entries of the pairs whose hashes are from begin to next, about
// partLen slots. next is hashEnd after the last part. The hashes, unlike the slots, stay
// the same when the stripe grows between two parts.
func (s *stripe[K, V]) part(e []Entry[K, V], begin uint64) (_ []Entry[K, V], next uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next = min(begin+hashEnd*partLen/uint64(len(s.hashes)), hashEnd)
	first, last := s.home(uint32(begin)), s.home(uint32(next-1))
	for i := range len(s.hashes) {
		slot := (first + i) % len(s.hashes)
		switch h := uint64(s.hashes[slot]); {
		case h == 0 && first+i >= last:
			return e, next
		case h != 0 && begin <= h && h < next:
			e = append(e, s.pairs[slot].entry())
		}
	}
	return e, next
}

// hashEnd is more than every hash.
const hashEnd = 1 << 32
