package keyed

// minSlots is the least number of slots of a segment that has had a pair.
const minSlots = 8

// segment is a part of a stripe: a hash table with linear probing for some hundred pairs.
// The home of a pair is slot hash × slots / 2^32. At most 17 of 20 slots are used. Guarded
// by the stripe's mu.
type segment[K comparable, V any] struct {
	hashes []uint32      // per slot: 0 if empty
	pairs  []*pair[K, V] // per slot
	n      int           // number of pairs
}

// noHashes are the hashes of an empty segment.
var noHashes = make([]uint32, 1)

// newSegment returns an empty segment with room for n pairs and half as many more.
func newSegment[K comparable, V any](n int) segment[K, V] {
	if n == 0 {
		return segment[K, V]{hashes: noHashes}
	}
	size := max(n+n/2, minSlots)
	return segment[K, V]{hashes: make([]uint32, size), pairs: make([]*pair[K, V], size)}
}

// home returns the slot at which the search for h begins.
func (s *segment[K, V]) home(h uint32) int { return int(uint64(h) * uint64(len(s.hashes)) >> 32) }

// after returns the slot after i.
func (s *segment[K, V]) after(i int) int {
	if i++; i < len(s.hashes) {
		return i
	}
	return 0
}

// find returns the slot of the pair of key. h is the hash of key. ok is false if there is no
// pair.
func (s *segment[K, V]) find(h uint32, key K) (slot int, ok bool) {
	i := s.home(h)
	for ; s.hashes[i] != 0; i = s.after(i) {
		if s.hashes[i] == h && s.pairs[i].key == key {
			return i, true
		}
	}
	return i, false
}

// add adds p. h is the hash of the key, which must not have a pair.
func (s *segment[K, V]) add(h uint32, p *pair[K, V]) {
	if s.n++; 20*s.n > 17*len(s.hashes) {
		s.resize()
	}
	s.put(h, p)
}

// put puts p into the first empty slot from the home of p on.
func (s *segment[K, V]) put(h uint32, p *pair[K, V]) {
	i := s.home(h)
	for s.hashes[i] != 0 {
		i = s.after(i)
	}
	s.hashes[i], s.pairs[i] = h, p
}

// remove removes the pair in slot i. Later pairs move into the gap, unless the gap precedes
// the home.
func (s *segment[K, V]) remove(i int) {
	for j := s.after(i); s.hashes[j] != 0; j = s.after(j) {
		if home := s.home(s.hashes[j]); (j-home+len(s.hashes))%len(s.hashes) >= (j-i+len(s.hashes))%len(s.hashes) {
			s.hashes[i], s.pairs[i] = s.hashes[j], s.pairs[j]
			i = j
		}
	}
	s.hashes[i], s.pairs[i] = 0, nil
	if s.n--; max(3*s.n, minSlots) < len(s.hashes) {
		s.resize()
	}
}

// resize gives the segment room for its pairs and half as many more.
func (s *segment[K, V]) resize() {
	old := *s
	*s = newSegment[K, V](max(s.n, 1))
	s.n = old.n
	for i, h := range old.hashes {
		if h != 0 {
			s.put(h, old.pairs[i])
		}
	}
}
