package engine

import (
	"slices"
	"unsafe"

	"github.com/hashedwheel/hwt/internal/prefetch"
)

// Buckets is an array of sets of timeouts, each timeout with a tag of eight
// bits: what is left of the remaining rounds once the wheel's size is divided
// off. Adding and removing take constant time. Only a bucket's first chunk is
// ever partly filled.
//
// The zero value has no buckets; Grow makes some. Guarded by Core.mu.
type Buckets struct {
	heads  []chunkID // of each bucket, its first chunk; none if it is empty
	chunks chunks
	count  int // of timeouts in all buckets
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
	id := b.heads[i]
	var c *chunk
	if id != 0 {
		c = b.chunks.at(id)
	}
	if c == nil || c.n == chunkLen {
		id, c = b.chunks.take()
		c.bucket, c.next = i, b.heads[i]
		b.heads[i] = id
	}
	c.tags[c.n], c.timeouts[c.n] = tag, t
	t.place = place{id, c.n}
	c.n++
	b.count++
}

// Remove takes t out of its bucket and returns which one that was.
func (b *Buckets) Remove(t *Timeout) (i uint32) {
	at := t.place
	t.place = place{}
	i = b.chunks.at(at.chunk).bucket
	b.vacate(at)
	return i
}

// Sift takes the timeouts tagged tag out of bucket i and appends them to taken,
// in the order of their adding as long as nothing was removed in between. It
// returns the distance from tag, going up, to the nearest tag that stays, or 0
// if the bucket is empty.
func (b *Buckets) Sift(i uint32, tag uint8, taken []*Timeout) (_ []*Timeout, nearest uint8) {
	from := len(taken)
	// From the newest entry to the oldest. What vacate moves into a hole comes
	// from the first chunk's end, which by then is known to stay.
	for id := b.heads[i]; id != 0; {
		c := b.chunks.at(id)
		older := c.next // vacate may give c back
		b.prefetch(older)
		for j := c.n; j > 0; j-- {
			if gap := c.tags[j-1] - tag; gap == 0 {
				taken = append(taken, c.timeouts[j-1])
				b.vacate(place{id, j - 1})
			} else if nearest == 0 || gap < nearest {
				nearest = gap
			}
		}
		id = older
	}
	slices.Reverse(taken[from:])
	return taken, nearest
}

// PrefetchRemove asks for the memory that it takes to remove those that are in a
// bucket: their chunks, and then the first chunk of each one's bucket, from which
// the hole is filled.
func (b *Buckets) PrefetchRemove(moves []Move) {
	for _, m := range moves {
		b.prefetch(m.Timeout.place.chunk)
	}
	for _, m := range moves {
		if id := m.Timeout.place.chunk; id != 0 {
			b.PrefetchAdd(b.chunks.at(id).bucket)
		}
	}
}

// PrefetchAdd asks for the memory that it takes to add to bucket i.
func (b *Buckets) PrefetchAdd(i uint32) { b.prefetch(b.heads[i]) }

func (b *Buckets) prefetch(id chunkID) {
	if id != 0 {
		prefetch.Lines(unsafe.Pointer(b.chunks.at(id)))
	}
}

// All yields every timeout in every bucket. The loop must not change them.
func (b *Buckets) All(yield func(*Timeout) bool) {
	for _, id := range b.heads {
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

// vacate fills the entry at hole with the last entry of its bucket's first chunk.
func (b *Buckets) vacate(hole place) {
	b.count--
	c := b.chunks.at(hole.chunk)
	head := b.heads[c.bucket]
	first := b.chunks.at(head)
	first.n--
	if last := (place{head, first.n}); last != hole {
		moved := first.timeouts[last.entry]
		c.tags[hole.entry], c.timeouts[hole.entry] = first.tags[last.entry], moved
		moved.place = hole
	}
	first.timeouts[first.n] = nil
	if first.n == 0 {
		b.heads[c.bucket] = first.next
		b.chunks.give(head)
	}
}
