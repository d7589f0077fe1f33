package cache

import "sync/atomic"

// ref names a slot of the cache: its stripe, its number there, and its
// generation, which changes when the slot is freed.
type ref uint64

func newRef(stripe int, gen uint16, slot uint32) ref {
	return ref(stripe)<<48 | ref(gen)<<32 | ref(slot)
}

func (r ref) stripe() int  { return int(r >> 48) }
func (r ref) gen() uint16  { return uint16(r >> 32) }
func (r ref) slot() uint32 { return uint32(r) }

// slot is a stripe's record of an entry. Slots are numbered from 1, and refer to
// each other by number: that takes half the memory of pointers, and gives the
// garbage collector nothing to follow. Guarded by the stripe's mu.
type slot[K comparable] struct {
	key    K
	next   uint32 // in the bucket of the wheel or in the list of free slots; 0 for none
	prev   uint32 // in the bucket of the wheel; 0 for none
	tick   uint32 // the low bits of the tick for which it is filed
	gen    uint16 // how often it was freed
	bucket uint16 // of the wheel; 0 if it is not filed
}

// use is what a slot has in addition if the cache has a limit; see sieve.
type use struct {
	newer, older uint32      // 0 for none. Guarded by the stripe's mu.
	linked       bool        // Guarded by the stripe's mu.
	used         atomic.Bool // Atomic: set by look-ups, cleared by the sieve.
}

// idle is what a slot has in addition if expiration is sliding.
type idle struct {
	due atomic.Int64  // when the entry expires. Atomic: moved by uses, ended by expiry.
	gen atomic.Uint32 // that of the slot. Atomic: written under the stripe's mu, read by look-ups.
}

const (
	chunkBits = 6
	chunkSize = 1 << chunkBits
)

// chunk is a block of slots, by which a stripe grows. Immutable.
type chunk[K comparable] struct {
	slots *[chunkSize]slot[K]
	uses  *[chunkSize]use  // nil without a limit
	idles *[chunkSize]idle // nil unless expiration is sliding
}

// slots are the slots of a stripe. Its methods need the stripe's mu, except use
// and idle.
type slots[K comparable] struct {
	limited bool                       // Immutable after New.
	sliding bool                       // Immutable after New.
	chunks  atomic.Pointer[[]chunk[K]] // Atomic: written under the stripe's mu, read by look-ups.
	made    uint32                     // slots ever used. Guarded by the stripe's mu.
	free    uint32                     // the first free one, or 0. Guarded by the stripe's mu.
}

func (s *slots[K]) chunk(n uint32) *chunk[K] { return &(*s.chunks.Load())[(n-1)>>chunkBits] }

func (s *slots[K]) at(n uint32) *slot[K] { return &s.chunk(n).slots[(n-1)%chunkSize] }
func (s *slots[K]) use(n uint32) *use    { return &s.chunk(n).uses[(n-1)%chunkSize] }
func (s *slots[K]) idle(n uint32) *idle  { return &s.chunk(n).idles[(n-1)%chunkSize] }

// alloc returns a slot for key.
func (s *slots[K]) alloc(key K) (n uint32) {
	if n = s.free; n != 0 {
		s.free = s.at(n).next
	} else {
		if s.made%chunkSize == 0 {
			s.grow()
		}
		s.made++
		n = s.made
	}
	at := s.at(n)
	at.key, at.next = key, 0
	return n
}

// release frees slot n, so that refs to it are no longer valid.
func (s *slots[K]) release(n uint32) {
	at := s.at(n)
	at.gen++
	if s.sliding {
		s.idle(n).gen.Store(uint32(at.gen))
	}
	var none K
	at.key, at.next = none, s.free
	s.free = n
}

func (s *slots[K]) grow() {
	c := chunk[K]{slots: new([chunkSize]slot[K])}
	if s.limited {
		c.uses = new([chunkSize]use)
	}
	if s.sliding {
		c.idles = new([chunkSize]idle)
	}
	var chunks []chunk[K]
	if old := s.chunks.Load(); old != nil {
		chunks = *old
	}
	chunks = append(chunks, c)
	s.chunks.Store(&chunks) // Publishes c to look-ups.
}
