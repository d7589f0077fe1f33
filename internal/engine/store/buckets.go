// Package store keeps the timeouts of a wheel in buckets. It knows a timeout by its
// [Node] only. Nothing in it is safe for concurrent use.
package store

import (
	"slices"
	"unsafe"

	"github.com/hashedwheel/hwt/internal/cacheline"
)

// Buckets is an array of sets of nodes, each node with a tag of eight bits: the part of
// its remaining rounds that does not follow from its bucket. Adding and removing take
// constant time. The first node of a bucket is in a single. When a second one joins it,
// both move to a chunk. Only the first chunk of a bucket is ever partly filled.
//
// The zero value has no buckets; Grow makes some.
type Buckets struct {
	// Watcher learns of each node that Add or Remove places. nil for none.
	Watcher Watcher

	heads   []chunkID // of each bucket, its single or its first chunk; 0 if it is empty
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

// addFirst puts n into bucket i, which is empty.
func (b *Buckets) addFirst(i uint32, n *Node, tag uint8) {
	id, s := b.singles.alloc()
	*s = single{n, i, tag}
	b.heads[i] = id
	n.put(id, 0)
}

// addSecond puts the single node of bucket i into a chunk, and n behind it.
func (b *Buckets) addSecond(i uint32, n *Node, tag uint8) {
	id := b.heads[i]
	first := *b.singles.at(id)
	b.singles.release(id)
	b.heads[i] = 0
	b.addToChunk(i, first.node, first.tag)
	b.report(first.node)
	b.addToChunk(i, n, tag)
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

// Remove takes n out of its bucket and returns the number of that bucket.
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

// TakeTagged takes the nodes tagged tag out of bucket i and appends them to taken. They
// are in the order of their adding unless one was removed meanwhile. It returns the
// distance from tag, upwards, to the nearest tag that stays, or 0 if the bucket is empty.
func (b *Buckets) TakeTagged(i uint32, tag uint8, taken []*Node) (_ []*Node, nearest uint8) {
	if b.heads[i].isSingle() {
		return b.takeSingle(i, tag, taken)
	}
	from := len(taken)
	// From the newest entry to the oldest: removeAt fills a hole from the end of the
	// first chunk, whose entries are known to stay by then.
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

// removeAt fills the hole, an entry of a chunk, with the last entry of its bucket's first
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

// report tells the watcher that n has another place.
func (b *Buckets) report(n *Node) {
	if b.Watcher != nil {
		b.Watcher.Moved(n)
	}
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
