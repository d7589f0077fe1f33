// Package store keeps the timeouts of a wheel in buckets. The package knows a timeout by its
// [Node] only. Nothing in the package is safe for concurrent use.
package store

import (
	"slices"
	"unsafe"

	"github.com/hashedwheel/hwt/internal/cacheline"
)

// Buckets is an array of sets of nodes, each node with a tag of eight bits: the part of the
// remaining rounds that does not follow from the bucket. Adding and removing take constant
// time. The first node of a bucket is in a single. When a second node joins, both move to a
// chunk. Only the first chunk of a bucket is ever partly filled.
//
// The zero value has no buckets; Grow makes some.
type Buckets struct {
	// Watcher learns of each node that Add or Remove places. Watcher may be nil.
	Watcher Watcher

	heads   []chunkID // of each bucket, the single or the first chunk; 0 if empty
	chunks  chunks
	singles singles
	count   int // of nodes in all buckets
}

// Watcher learns that n is at another place.
type Watcher interface{ Moved(n *Node) }

// Count returns the number of nodes in all buckets.
func (b *Buckets) Count() int { return b.count }

// Grow adds n buckets.
func (b *Buckets) Grow(n int) { b.heads = append(b.heads, make([]chunkID, n)...) }

// IsEmpty reports whether bucket i is empty.
func (b *Buckets) IsEmpty(i uint32) bool { return b.heads[i] == 0 }

// report tells the watcher that n has another place.
func (b *Buckets) report(n *Node) {
	if b.Watcher != nil {
		b.Watcher.Moved(n)
	}
}

// Node is the part of a timeout that the store knows: the place of the timeout. The zero
// value is in no bucket.
type Node struct {
	chunk chunkID // 0 if the node is in no bucket
	entry uint8   // in the chunk; the Spot of a node in no bucket

	// Stamp and Marks belong to the owner. Both lie here to fill the node.
	Stamp uint8
	Marks uint16
}

// Spot is the place of a node in no bucket. The values belong to the owner. Buckets set the
// zero value for a removed node.
type Spot uint8

// Stored reports whether the node is in a bucket.
func (n *Node) Stored() bool { return n.chunk != 0 }

// IsAt reports whether the node is at s, and in no bucket.
func (n *Node) IsAt(s Spot) bool { return n.chunk == 0 && n.entry == uint8(s) }

// MoveTo notes that the node is at s. The node must not be in a bucket.
func (n *Node) MoveTo(s Spot) { n.put(0, uint8(s)) }

func (n *Node) put(c chunkID, entry uint8) { n.chunk, n.entry = c, entry }

// Add puts n into bucket i.
func (b *Buckets) Add(i uint32, n *Node, tag uint8) {
	b.count++
	head := b.heads[i]
	switch {
	case head == 0:
		b.addFirst(i, n, tag)
	case head.isSingle():
		b.addSecond(i, n, tag)
	default:
		b.addToChunk(i, n, tag)
	}
	b.report(n)
}

// addFirst puts n into the empty bucket i.
func (b *Buckets) addFirst(i uint32, n *Node, tag uint8) {
	id, s := b.singles.alloc()
	*s = single{n, i, tag}
	b.heads[i] = id
	n.put(id, 0)
}

// addSecond puts the single node of bucket i into a chunk, followed by n.
func (b *Buckets) addSecond(i uint32, n *Node, tag uint8) {
	id := b.heads[i]
	first := *b.singles.at(id)
	b.singles.release(id)
	b.heads[i] = 0
	b.addToChunk(i, first.node, first.tag)
	b.report(first.node)
	b.addToChunk(i, n, tag)
}

// Remove takes n out of a bucket and returns the number of the bucket.
func (b *Buckets) Remove(n *Node) (i uint32) {
	id, entry := n.chunk, n.entry
	n.put(0, 0)
	b.count--
	if id.isSingle() {
		i = b.singles.at(id).bucket
		b.heads[i] = 0
		b.singles.release(id)
		return i
	}
	i = b.chunks.at(id).bucket
	b.removeAt(id, entry)
	return i
}

// TakeTagged takes the nodes tagged tag out of bucket i and appends them to taken. The nodes
// are in the order of adding, unless nodes in between were removed. TakeTagged returns the
// distance from tag, upwards, to the nearest tag that stays, or 0 if the bucket is empty.
func (b *Buckets) TakeTagged(i uint32, tag uint8, taken []*Node) (_ []*Node, nearest uint8) {
	if b.heads[i].isSingle() {
		return b.takeSingle(i, tag, taken)
	}
	from := len(taken)
	// From the newest entry to the oldest: removeAt fills a hole from the end of the first
	// chunk, and the loop has seen that the entries there stay.
	for id := b.heads[i]; id != 0; {
		c := b.chunks.at(id)
		older := c.next // removeAt may free c
		b.prefetch(older)
		for j := c.n; j > 0; j-- {
			if gap := c.tags[j-1] - tag; gap == 0 {
				taken = append(taken, c.nodes[j-1])
				b.count--
				b.removeAt(id, j-1)
			} else if nearest == 0 || gap < nearest {
				nearest = gap
			}
		}
		id = older
	}
	slices.Reverse(taken[from:])
	return taken, nearest
}

// takeSingle is TakeTagged for a bucket of one node.
func (b *Buckets) takeSingle(i uint32, tag uint8, taken []*Node) (_ []*Node, nearest uint8) {
	s := b.singles.at(b.heads[i])
	if gap := s.tag - tag; gap != 0 {
		return taken, gap
	}
	n := s.node
	b.count--
	b.singles.release(b.heads[i])
	b.heads[i] = 0
	return append(taken, n), 0
}

// maxPeeked is the greatest number of chunks that Peek reads. The bound limits the time of
// Peek in a bucket that is full of other tags.
const maxPeeked = 64

// Peek appends the nodes tagged tag in bucket i to nodes. Peek returns false, and any part
// of the nodes, if there are more than limit or if the bucket is long.
func (b *Buckets) Peek(i uint32, tag uint8, limit int, nodes []*Node) (_ []*Node, ok bool) {
	id := b.heads[i]
	if id.isSingle() {
		if s := b.singles.at(id); s.tag == tag {
			nodes = append(nodes, s.node)
		}
		return nodes, true
	}
	limit += len(nodes)
	for range maxPeeked {
		if id == 0 {
			return nodes, true
		}
		c := b.chunks.at(id)
		for j, t := range c.tags[:c.n] {
			if t == tag {
				nodes = append(nodes, c.nodes[j])
			}
		}
		if len(nodes) > limit {
			return nodes, false
		}
		id = c.next
	}
	return nodes, id == 0
}

// PrefetchPlace loads the chunk or single of n.
func (b *Buckets) PrefetchPlace(n *Node) { b.prefetch(n.chunk) }

// PrefetchBucket loads the first chunk or the single of bucket i.
func (b *Buckets) PrefetchBucket(i uint32) { b.prefetch(b.heads[i]) }

// PrefetchFirst loads the first chunk of the bucket of n, if n is in a chunk.
func (b *Buckets) PrefetchFirst(n *Node) {
	if n.chunk != 0 && !n.chunk.isSingle() {
		b.prefetch(b.heads[b.chunks.at(n.chunk).bucket])
	}
}

// PrefetchFiller loads the node that takes the place of n when n is removed.
func (b *Buckets) PrefetchFiller(n *Node) {
	if n.chunk != 0 && !n.chunk.isSingle() {
		first := b.chunks.at(b.heads[b.chunks.at(n.chunk).bucket])
		cacheline.Prefetch(unsafe.Pointer(first.nodes[first.n-1]))
	}
}

func (b *Buckets) prefetch(id chunkID) {
	switch {
	case id == 0:
	case id.isSingle():
		cacheline.Prefetch(unsafe.Pointer(b.singles.at(id)))
	default:
		cacheline.PrefetchPair(unsafe.Pointer(b.chunks.at(id)))
	}
}

// single is a bucket that holds one timeout, for which a chunk would be large: 16
// bytes on 64-bit machines.
type single struct {
	node   *Node  // nil in a free single
	bucket uint32 // of a free one, the number of the next free one, counted from 1, or 0
	tag    uint8
}

// alone is the bit of a chunkID that names a single.
const alone chunkID = 1 << 31

// isSingle reports whether id names a single. The zero value does not.
func (id chunkID) isSingle() bool { return id&alone != 0 }

// singles is a store of singles, in slabs as chunks are. There are at most as many singles as
// buckets, so the slabs stay until no single is in use. The zero value has no slabs.
type singles struct {
	slabs [][]single // of slabLen; a growing first slab may be shorter
	free  uint32     // the number of the first freed single, counted from 1
	made  int        // how many were ever allocated
	used  int        // how many are now
}

// at returns the single that id names.
func (s *singles) at(id chunkID) *single { return s.numbered(int(id&^alone) - 1) }

// numbered returns the single with the number n, counted from 0. The single may be free.
func (s *singles) numbered(n int) *single { return &s.slabs[n/slabLen][n%slabLen] }

// alloc returns a free single. Pointers to other singles become invalid.
func (s *singles) alloc() (chunkID, *single) {
	s.used++
	if n := s.free; n != 0 {
		o := s.numbered(int(n) - 1)
		s.free = o.bucket
		return alone | chunkID(n), o
	}
	s.grow()
	s.made++
	return alone | chunkID(s.made), s.numbered(s.made - 1)
}

// grow makes room for one more.
func (s *singles) grow() {
	switch i := s.made / slabLen; {
	case i == len(s.slabs):
		n := slabLen
		if i == 0 {
			n = 8
		}
		s.slabs = append(s.slabs, make([]single, n))
	case s.made%slabLen == len(s.slabs[i]):
		larger := make([]single, min(2*s.made, slabLen))
		copy(larger, s.slabs[i])
		s.slabs[i] = larger
	}
}

// release frees the single that id names. If no single remains in use, all slabs but the first
// go back to the collector.
func (s *singles) release(id chunkID) {
	*s.at(id) = single{bucket: s.free}
	s.free = uint32(id &^ alone)
	if s.used--; s.used == 0 && len(s.slabs) > 1 {
		first := s.slabs[0]
		clear(first)
		*s = singles{slabs: [][]single{first}}
	}
}
