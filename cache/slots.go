package cache

import "sync/atomic"

// ref names a slot of the cache: the stripe, the number in the stripe, and the generation.
// The generation changes when the slot is freed.
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
	tick   uint32 // the low bits of the tick for which the slot is filed
	gen    uint16 // how often the slot was freed
	bucket uint16 // of the wheel; 0 if not filed
}

// use extends a slot of a cache with a limit; see sieve.
type use struct {
	newer, older uint32      // 0 for none. Guarded by the stripe's mu.
	linked       bool        // Guarded by the stripe's mu.
	used         atomic.Bool // Atomic: set by lookups, cleared by the sieve.
}

// idleDue extends a slot of a cache with sliding expiration.
type idleDue struct {
	due atomic.Int64  // when the entry expires. Atomic: moved by uses, ended by expiry.
	gen atomic.Uint32 // the slot's generation. Atomic: written under the stripe's mu, read by lookups.
}

const (
	chunkBits = 6
	chunkSize = 1 << chunkBits
	blockBits = 4
	blockSize = 1 << blockBits
)

// chunk is a block of slots. A chunk has no memory until a slot is needed, and again after
// drop. The generation outlives the slots, so that a ref to a dropped slot does not find a
// later slot (C3).
type chunk[K comparable] struct {
	slots *[chunkSize]slot[K]                // Guarded by the stripe's mu.
	uses  atomic.Pointer[[chunkSize]use]     // nil without a limit. Atomic: written under the stripe's mu, read by lookups.
	idles atomic.Pointer[[chunkSize]idleDue] // nil unless expiration is sliding. Atomic: as uses.
	free  uint32                             // the first free slot, or 0. Guarded by the stripe's mu.
	place uint32                             // index in room, if the chunk is in room. Guarded by the stripe's mu.
	gen   uint16                             // the highest generation of the slots at the last drop. Guarded by the stripe's mu.
	live  uint8                              // number of slots in use. Guarded by the stripe's mu.
}

// slots are the slots of a stripe. The methods need the stripe's mu, except use and idle.
// alloc and release move at most a few chunks, however many exist, because both hold the
// lock of all keys in a cache with a limit.
type slots[K comparable] struct {
	limited bool                                   // Immutable after New.
	sliding bool                                   // Immutable after New.
	blocks  atomic.Pointer[[]*[blockSize]chunk[K]] // replaced by a longer one. Atomic: written under the stripe's mu, read by lookups.
	made    uint32                                 // chunks ever used. Guarded by the stripe's mu.
	room    []uint32                               // chunks with used and free slots; the last one is used next. Guarded by the stripe's mu.
	empty   []uint32                               // chunks with free slots only. Guarded by the stripe's mu.
	gone    []uint32                               // chunks without memory. Guarded by the stripe's mu.
}

// numbered returns chunk i.
func (s *slots[K]) numbered(i uint32) *chunk[K] {
	return &(*s.blocks.Load())[i>>blockBits][i%blockSize]
}

func (s *slots[K]) chunk(n uint32) *chunk[K] { return s.numbered((n - 1) >> chunkBits) }

func (s *slots[K]) at(n uint32) *slot[K] { return &s.chunk(n).slots[(n-1)%chunkSize] }

// use returns the use of slot n, or nil if the slot was dropped.
func (s *slots[K]) use(n uint32) *use {
	if uses := s.chunk(n).uses.Load(); uses != nil {
		return &uses[(n-1)%chunkSize]
	}
	return nil
}

// idle returns the idleDue of slot n, or nil if the slot was dropped.
func (s *slots[K]) idle(n uint32) *idleDue {
	if idles := s.chunk(n).idles.Load(); idles != nil {
		return &idles[(n-1)%chunkSize]
	}
	return nil
}

// alloc returns a slot for key.
func (s *slots[K]) alloc(key K) (n uint32) {
	if len(s.room) == 0 {
		s.open()
	}
	last := len(s.room) - 1
	c := s.numbered(s.room[last])
	n = c.free
	at := &c.slots[(n-1)%chunkSize]
	c.free, at.key, at.next = at.next, key, 0
	c.live++
	if c.free == 0 {
		s.room = s.room[:last]
	}
	return n
}

// release frees slot n, so that refs to n are no longer valid.
func (s *slots[K]) release(n uint32) {
	c, at := s.chunk(n), s.at(n)
	at.gen++
	if s.sliding {
		s.idle(n).gen.Store(uint32(at.gen))
	}
	if c.free == 0 {
		s.enter(c, (n-1)>>chunkBits)
	}
	var none K
	at.key, at.next = none, c.free
	c.free = n
	if c.live--; c.live == 0 {
		s.leave(c)
		s.empty = append(s.empty, (n-1)>>chunkBits)
		s.trim()
	}
}

// enter adds c, the chunk with the number i, to room.
func (s *slots[K]) enter(c *chunk[K], i uint32) {
	c.place = uint32(len(s.room))
	s.room = append(s.room, i)
}

// leave removes c from room. The last chunk takes the place of c.
func (s *slots[K]) leave(c *chunk[K]) {
	last := len(s.room) - 1
	moved := s.room[last]
	s.room[c.place], s.numbered(moved).place = moved, c.place
	s.room = s.room[:last]
}

// open adds a chunk without used slots to room.
func (s *slots[K]) open() {
	var i uint32
	if last := len(s.empty) - 1; last >= 0 {
		i, s.empty = s.empty[last], s.empty[:last]
	} else {
		i = s.grow()
	}
	s.enter(s.numbered(i), i)
}

// grow gives memory to a chunk and returns the chunk's number.
func (s *slots[K]) grow() (i uint32) {
	if last := len(s.gone) - 1; last >= 0 {
		i, s.gone = s.gone[last], s.gone[:last]
	} else {
		i = s.made
		s.made++
		s.extend()
	}
	c := s.numbered(i)
	c.slots = new([chunkSize]slot[K])
	first := i<<chunkBits + 1
	for j := range c.slots {
		c.slots[j].gen, c.slots[j].next = c.gen, first+uint32(j)+1
	}
	c.slots[chunkSize-1].next = 0
	c.free = first
	if s.limited {
		c.uses.Store(new([chunkSize]use)) // Publishes to lookups.
	}
	if s.sliding {
		idles := new([chunkSize]idleDue)
		for j := range idles {
			idles[j].gen.Store(uint32(c.gen))
		}
		c.idles.Store(idles) // Publishes to lookups.
	}
	return i
}

// extend adds a block if s.made needs one. Lookups may read the shorter slice of blocks for a
// while: no lookup needs a slot in the new block.
func (s *slots[K]) extend() {
	var blocks []*[blockSize]chunk[K]
	if old := s.blocks.Load(); old != nil {
		blocks = *old
	}
	if int(s.made) > len(blocks)*blockSize {
		blocks = append(blocks, new([blockSize]chunk[K]))
		s.blocks.Store(&blocks) // Publishes to lookups.
	}
}

// spareChunks is the number of empty chunks that a stripe always keeps.
const spareChunks = 2

// trim drops empty chunks while they are the majority of the chunks with memory, so at most
// two after a release.
func (s *slots[K]) trim() {
	for len(s.empty) > spareChunks && 2*len(s.empty) > int(s.made)-len(s.gone) {
		last := len(s.empty) - 1
		s.drop(s.empty[last])
		s.empty = s.empty[:last]
	}
}

// drop takes the memory of the empty chunk i.
func (s *slots[K]) drop(i uint32) {
	c := s.numbered(i)
	for j := range c.slots {
		c.gen = max(c.gen, c.slots[j].gen)
	}
	c.slots, c.free = nil, 0
	c.uses.Store(nil)
	c.idles.Store(nil)
	s.gone = append(s.gone, i)
}
