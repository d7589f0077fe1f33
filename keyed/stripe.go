package keyed

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashedwheel/hwt/internal/cacheline"
)

// segmentPairs is the average number of pairs per segment at which a stripe splits a segment.
// Segments are split one after another: a segment has up to twice as many pairs before its split.
const segmentPairs = 256

// stripe is a part of the table, with a lock. The pairs are in segments, and the number of
// segments follows the number of pairs, by linear hashing: a stripe grows by the split of one
// segment, and shrinks by the merge of the last two. An operation moves only the pairs of a
// segment or two, however large the table is. The segment of a pair depends on the low bits of
// the hash, and the home in the segment on the high bits.
type stripe[K comparable, V any] struct {
	mu       sync.Mutex
	segments []segment[K, V] // at least one. Guarded by mu.
	n        atomic.Int64    // number of pairs. Atomic: written under mu, read by Len.
	updates  *update[K, V]   // running Updates. Guarded by mu.
}

// slot is the place of a pair. A slot is valid until the stripe changes.
type slot struct{ segment, i int }

// newStripes returns empty stripes for the number of processors.
func newStripes[K comparable, V any]() []stripe[K, V] {
	stripes := make([]stripe[K, V], cacheline.Stripes(16, 256))
	for i := range stripes {
		stripes[i].removeAll()
	}
	return stripes
}

// order returns the place of hash h in the order in which All yields pairs. In this order, the
// pairs of a segment follow each other. After a split, the segment keeps the first half of them.
// The first bit of a hash is always set, and tells no pairs apart.
func order(h uint32) uint32 { return bits.Reverse32(h) }

// segmentOf returns the number of the segment for hash h, and the number of bits of h that
// tell the segment from others.
func (s *stripe[K, V]) segmentOf(h uint32) (i, width int) {
	width = bits.Len(uint(len(s.segments) - 1))
	half := 1 << width >> 1
	i = int(h>>1) & (1<<width - 1)
	if first := i &^ half; first+half >= len(s.segments) { // the segment has not been split yet
		return first, width - 1
	}
	return i, width
}

// parent returns the number of the segment from which segment i was split.
func parent(i int) int { return i &^ (1 << (bits.Len(uint(i)) - 1)) }

// find returns the pair of key and its slot. h is the hash of key. p is nil if there is no
// pair. The caller holds mu.
func (s *stripe[K, V]) find(h uint32, key K) (p *pair[K, V], at slot) {
	at.segment, _ = s.segmentOf(h)
	in := &s.segments[at.segment]
	i, ok := in.find(h, key)
	if !ok {
		return nil, slot{}
	}
	at.i = i
	return in.pairs[i], at
}

// add adds p. h is the hash of the key, which must not have a pair. The caller holds mu.
func (s *stripe[K, V]) add(h uint32, p *pair[K, V]) {
	if s.n.Add(1) > int64(segmentPairs*len(s.segments)) {
		s.split()
	}
	i, _ := s.segmentOf(h)
	s.segments[i].add(h, p)
}

// remove removes the pair at a slot. The caller holds mu.
func (s *stripe[K, V]) remove(at slot) {
	s.segments[at.segment].remove(at.i)
	if last := len(s.segments) - 1; s.n.Add(-1) < int64(segmentPairs/2*last) {
		s.merge(last)
	}
}

// split adds a segment, for half of the pairs of the parent.
func (s *stripe[K, V]) split() {
	last := len(s.segments)
	from := parent(last)
	old := s.segments[from]
	s.segments = append(s.segments, newSegment[K, V](old.n/2))
	s.segments[from] = newSegment[K, V](old.n / 2)
	s.addAll(old)
}

// merge removes the last segment and adds the pairs to the parent.
func (s *stripe[K, V]) merge(last int) {
	old := s.segments[last]
	s.segments[last] = segment[K, V]{}
	if s.segments = s.segments[:last]; 2*last < cap(s.segments) {
		s.segments = slices.Clone(s.segments)
	}
	s.addAll(old)
}

// addAll adds the pairs of a segment that the stripe no longer has.
func (s *stripe[K, V]) addAll(old segment[K, V]) {
	for slot, h := range old.hashes {
		if h != 0 {
			i, _ := s.segmentOf(h)
			s.segments[i].add(h, old.pairs[slot])
		}
	}
}

// removeAll removes all pairs, and returns the segments.
func (s *stripe[K, V]) removeAll() []segment[K, V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	segments := s.segments
	s.segments = []segment[K, V]{newSegment[K, V](0)}
	s.n.Store(0)
	return segments
}

// The orders of all hashes are from firstOrder to endOrder.
const (
	firstOrder = 1 << 31
	endOrder   = 1 << 32
)

// part appends to e the entries of the pairs of one segment, from the order begin on. The next
// part begins at next. After the last part, next is endOrder. The order of a pair, unlike its
// segment, stays the same when the stripe grows or shrinks between two parts.
func (s *stripe[K, V]) part(e []Entry[K, V], begin uint64) (_ []Entry[K, V], next uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, width := s.segmentOf(order(uint32(begin)))
	for slot, h := range s.segments[i].hashes {
		if h != 0 && uint64(order(h)) >= begin {
			e = append(e, s.segments[i].pairs[slot].entry())
		}
	}
	last := uint64(1)<<(31-width) - 1 // the place of the last pair in the interval
	return e, (begin | last) + 1
}
