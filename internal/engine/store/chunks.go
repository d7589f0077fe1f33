package store

import "math/bits"

// A chunk is 128 bytes on 64-bit machines: two cache lines that are fetched as a pair, and 9.8
// bytes per entry. A slab of chunks is eight pages of the allocator, so that each chunk begins
// on a line.
const (
	chunkLen = 13  // entries of a chunk
	slabLen  = 512 // chunks of a slab
)

// chunk is a piece of a bucket. The tags lie side by side, and a rotation reads only the tags
// of waiting timeouts, not the timeouts.
type chunk struct {
	next   chunkID // older than this chunk, and full; of a free chunk, the next free chunk
	bucket uint32
	n      uint8
	tags   [chunkLen]uint8
	nodes  [chunkLen]*Node
}

// chunkID is the number of a chunk, counted from 1 through all slabs. With the bit alone, a
// chunkID names a single. The zero value names neither.
type chunkID uint32

// chunks is a store of chunks. Chunks refer to each other by number, and so do nodes to chunks.
// The collector walks through each slab once, from one end to the other. With separate chunks,
// and a pointer in every node, a cycle took several times as long.
//
// alloc uses the first slab with a free chunk. When there is less to hold, the last
// slabs run empty, and all empty ones but one go back to the collector. The zero value
// has no slabs.
type chunks struct {
	slabs  []slab
	open   []uint64 // a bit for each slab with a free chunk
	lowest int      // all earlier words of open are zero
	idle   int      // 1 + the empty slab that is kept, or 0
}

// slab is a row of chunks with counts. The counts are apart, so that the chunks fill whole
// pages.
type slab struct {
	chunks []chunk // slabLen; fewer in a growing first slab; nil after an empty slab was returned
	free   chunkID // the first freed chunk, which names the next
	made   uint16  // how many were ever allocated
	used   uint16  // how many are now
}

// at returns a chunk that was allocated.
func (s *chunks) at(id chunkID) *chunk {
	i := uint32(id) - 1
	return &s.slabs[i/slabLen].chunks[i%slabLen]
}

// from returns the first chunk in use with a number of n or more, counted from 0, and the
// number to continue with. At the end the chunk is nil.
func (s *chunks) from(n int) (c *chunk, next int) {
	for i := n / slabLen; i < len(s.slabs); i++ {
		sl := &s.slabs[i]
		for n = max(n, i*slabLen); n < i*slabLen+int(sl.made); n++ {
			if c = &sl.chunks[n%slabLen]; c.n > 0 {
				return c, n + 1
			}
		}
	}
	return nil, n
}

// alloc returns a chunk that is empty, except for next and bucket. Pointers to other chunks
// become invalid.
func (s *chunks) alloc() (chunkID, *chunk) {
	i := s.firstOpen()
	sl := &s.slabs[i]
	if s.idle == i+1 {
		s.idle = 0
	}
	if sl.used++; sl.used == slabLen {
		s.open[i/64] &^= 1 << (i % 64)
	}
	id := sl.free
	if id == 0 {
		s.grow(i)
		sl.made++
		id = chunkID(i*slabLen + int(sl.made))
	}
	c := s.at(id)
	sl.free = c.next
	return id, c
}

// grow makes room for one more in slab i: for a whole slab, but the first one grows by a
// quarter, so that a timer with few timeouts is small.
func (s *chunks) grow(i int) {
	sl := &s.slabs[i]
	if int(sl.made) < len(sl.chunks) {
		return
	}
	n := slabLen
	if i == 0 {
		n = min(len(sl.chunks)+max(8, len(sl.chunks)/4), slabLen)
	}
	larger := make([]chunk, n)
	copy(larger, sl.chunks)
	sl.chunks = larger
}

// free frees a chunk that refers to no timeouts.
func (s *chunks) free(id chunkID) {
	i := int(id-1) / slabLen
	sl := &s.slabs[i]
	s.at(id).next, sl.free = sl.free, id
	s.setOpen(i)
	if sl.used--; sl.used == 0 {
		s.retire(i)
	}
}

// retire is called when slab i has become empty. Of slab i and the empty slab that is kept
// already, retire keeps the first and releases the memory of the other.
func (s *chunks) retire(i int) {
	if s.idle == 0 {
		s.idle = i + 1
		return
	}
	last := max(i, s.idle-1)
	s.slabs[last] = slab{}
	s.idle = min(i+1, s.idle)
}

// firstOpen returns the first slab with a free chunk.
func (s *chunks) firstOpen() int {
	for ; s.lowest < len(s.open); s.lowest++ {
		if word := s.open[s.lowest]; word != 0 {
			return s.lowest*64 + bits.TrailingZeros64(word)
		}
	}
	if len(s.slabs)%64 == 0 {
		s.open = append(s.open, 0)
	}
	s.slabs = append(s.slabs, slab{})
	s.setOpen(len(s.slabs) - 1)
	return len(s.slabs) - 1
}

func (s *chunks) setOpen(i int) {
	s.open[i/64] |= 1 << (i % 64)
	s.lowest = min(s.lowest, i/64)
}

// addToChunk puts n into the first chunk of bucket i. A new chunk becomes the first if
// that is full or missing.
func (b *Buckets) addToChunk(i uint32, n *Node, tag uint8) {
	id := b.heads[i]
	var c *chunk
	if id != 0 {
		c = b.chunks.at(id)
	}
	if c == nil || c.n == chunkLen {
		id, c = b.chunks.alloc()
		c.bucket, c.next = i, b.heads[i]
		b.heads[i] = id
	}
	c.tags[c.n], c.nodes[c.n] = tag, n
	n.put(id, c.n)
	c.n++
}

// removeAt fills the hole, an entry of a chunk, with the last entry of the bucket's first
// chunk.
func (b *Buckets) removeAt(id chunkID, entry uint8) {
	c := b.chunks.at(id)
	head := b.heads[c.bucket]
	first := b.chunks.at(head)
	first.n--
	if head != id || first.n != entry {
		moved := first.nodes[first.n]
		c.tags[entry], c.nodes[entry] = first.tags[first.n], moved
		moved.put(id, entry)
		b.report(moved)
	}
	first.nodes[first.n] = nil
	if first.n == 0 {
		b.heads[c.bucket] = first.next
		b.chunks.free(head)
	}
}
