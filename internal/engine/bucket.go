package engine

import (
	"slices"
	"unsafe"

	"github.com/hashedwheel/hwt/internal/cacheline"
)

// Buckets is an array of sets of timeouts, each timeout with a tag of eight
// bits: what is left of the remaining rounds once the wheel's size is divided
// off. Adding and removing take constant time. The first timeout of a bucket is in a
// single; when the second comes, both go to a chunk. Only a bucket's first chunk is ever
// partly filled.
//
// The zero value has no buckets; Grow makes some. Guarded by Core.mu.
type Buckets struct {
	heads   []chunkID // of each bucket, its single or its first chunk; none if it is empty
	chunks  chunks
	singles singles
	count   int    // of timeouts in all buckets
	walks   *walks // to which moves are reported; nil while there are none
}

// place is where a timeout waits. The zero value is in no bucket.
type place struct {
	chunk chunkID
	entry uint8
}

// Count returns how many timeouts there are in all buckets.
func (b *Buckets) Count() int { return b.count }

// Grow makes n buckets more.
func (b *Buckets) Grow(n int) { b.heads = append(b.heads, make([]chunkID, n)...) }

// IsEmpty reports whether bucket i holds nothing.
func (b *Buckets) IsEmpty(i uint32) bool { return b.heads[i] == 0 }

// Add puts t into bucket i.
func (b *Buckets) Add(i uint32, t *Timeout, tag uint8) {
	b.count++
	head := b.heads[i]
	switch {
	case head == 0:
		b.addFirst(i, t, tag)
	case head.isSingle():
		b.addSecond(i, t, tag)
	default:
		b.addToChunk(i, t, tag)
	}
	b.report(t)
}

// addFirst puts t into bucket i, which is empty.
func (b *Buckets) addFirst(i uint32, t *Timeout, tag uint8) {
	id, s := b.singles.alloc()
	*s = single{t, i, tag}
	b.heads[i] = id
	t.put(place{chunk: id})
}

// addSecond puts t into bucket i, and it and the timeout that is there into a chunk.
func (b *Buckets) addSecond(i uint32, t *Timeout, tag uint8) {
	id := b.heads[i]
	first := *b.singles.at(id)
	b.singles.release(id)
	b.heads[i] = 0
	b.addToChunk(i, first.timeout, first.tag)
	b.report(first.timeout)
	b.addToChunk(i, t, tag)
}

// addToChunk puts t into the first chunk of bucket i, or into a new one if there is
// none or it is full.
func (b *Buckets) addToChunk(i uint32, t *Timeout, tag uint8) {
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
	c.tags[c.n], c.timeouts[c.n] = tag, t
	t.put(place{id, c.n})
	c.n++
}

// Remove takes t out of its bucket and returns which one that was.
func (b *Buckets) Remove(t *Timeout) (i uint32) {
	at := t.place()
	t.put(place{})
	b.count--
	if at.chunk.isSingle() {
		i = b.singles.at(at.chunk).bucket
		b.heads[i] = 0
		b.singles.release(at.chunk)
		return i
	}
	i = b.chunks.at(at.chunk).bucket
	b.removeAt(at)
	return i
}

// TakeTagged takes the timeouts tagged tag out of bucket i and appends them to taken,
// in the order of their adding as long as nothing was removed in between. It
// returns the distance from tag, going up, to the nearest tag that stays, or 0
// if the bucket is empty.
func (b *Buckets) TakeTagged(i uint32, tag uint8, taken []*Timeout) (_ []*Timeout, nearest uint8) {
	if b.heads[i].isSingle() {
		return b.takeSingle(i, tag, taken)
	}
	from := len(taken)
	// From the newest entry to the oldest. What removeAt moves into a hole comes
	// from the first chunk's end, which by then is known to stay.
	for id := b.heads[i]; id != 0; {
		c := b.chunks.at(id)
		older := c.next // removeAt may free c
		b.prefetch(older)
		for j := c.n; j > 0; j-- {
			if gap := c.tags[j-1] - tag; gap == 0 {
				taken = append(taken, c.timeouts[j-1])
				b.count--
				b.removeAt(place{id, j - 1})
			} else if nearest == 0 || gap < nearest {
				nearest = gap
			}
		}
		id = older
	}
	slices.Reverse(taken[from:])
	return taken, nearest
}

// takeSingle is TakeTagged for a bucket that holds one timeout.
func (b *Buckets) takeSingle(i uint32, tag uint8, taken []*Timeout) (_ []*Timeout, nearest uint8) {
	s := b.singles.at(b.heads[i])
	if gap := s.tag - tag; gap != 0 {
		return taken, gap
	}
	t := s.timeout
	b.count--
	b.singles.release(b.heads[i])
	b.heads[i] = 0
	return append(taken, t), 0
}

// prefetchChunk asks for the chunk of t, if it is in a bucket.
func (b *Buckets) prefetchChunk(t *Timeout) { b.prefetch(t.chunk) }

// prefetchFirst asks for the first chunk of t's bucket, if it is in a chunk.
func (b *Buckets) prefetchFirst(t *Timeout) {
	if t.chunk != 0 && !t.chunk.isSingle() {
		b.prefetch(b.heads[b.chunks.at(t.chunk).bucket])
	}
}

// prefetchLast asks for the timeout that takes the place of t when t is removed.
func (b *Buckets) prefetchLast(t *Timeout) {
	if t.chunk != 0 && !t.chunk.isSingle() {
		first := b.chunks.at(b.heads[b.chunks.at(t.chunk).bucket])
		cacheline.Prefetch(unsafe.Pointer(first.timeouts[first.n-1]))
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

// All yields every timeout in every bucket. The loop must not change them.
func (b *Buckets) All(yield func(*Timeout) bool) {
	for _, id := range b.heads {
		if id.isSingle() {
			if !yield(b.singles.at(id).timeout) {
				return
			}
			continue
		}
		for id != 0 {
			c := b.chunks.at(id)
			for _, t := range c.timeouts[:c.n] {
				if !yield(t) {
					return
				}
			}
			id = c.next
		}
	}
}

// report reports that t has a new place.
func (b *Buckets) report(t *Timeout) {
	if b.walks != nil {
		b.walks.moved(t)
	}
}

// removeAt fills the entry at hole with the last entry of its bucket's first chunk.
func (b *Buckets) removeAt(hole place) {
	c := b.chunks.at(hole.chunk)
	head := b.heads[c.bucket]
	first := b.chunks.at(head)
	first.n--
	if last := (place{head, first.n}); last != hole {
		moved := first.timeouts[last.entry]
		c.tags[hole.entry], c.timeouts[hole.entry] = first.tags[last.entry], moved
		moved.put(hole)
		b.report(moved)
	}
	first.timeouts[first.n] = nil
	if first.n == 0 {
		b.heads[c.bucket] = first.next
		b.chunks.free(head)
	}
}
