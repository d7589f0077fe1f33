package engine

import "slices"

// chunkLen makes a chunk 96 bytes on 64-bit machines, a size class of the
// allocator: 10.7 bytes an entry, and little waste in a bucket of few.
const chunkLen = 9

// maxSpare bounds the emptied chunks kept for reuse, 96 KiB.
const maxSpare = 1024

// chunk is a piece of a bucket. Waiting timeouts are passed over by their tags
// alone, which lie side by side: a rotation touches no timeout that stays.
type chunk struct {
	next     *chunk // older than this one, and full
	bucket   uint32
	n        uint8
	tags     [chunkLen]uint8
	timeouts [chunkLen]*Timeout
}

// Buckets is an array of sets of timeouts, each timeout with a tag of eight
// bits: what is left of the remaining rounds once the wheel's size is divided
// off. Adding and removing take constant time. Only a bucket's first chunk is
// ever partly filled.
//
// The zero value has no buckets; Grow makes some. Guarded by Core.mu.
type Buckets struct {
	heads  []*chunk
	count  int // of timeouts in all buckets
	spare  *chunk
	spares int
}

// Count returns how many timeouts there are in all buckets.
func (b *Buckets) Count() int { return b.count }

// Grow makes n buckets more.
func (b *Buckets) Grow(n int) { b.heads = append(b.heads, make([]*chunk, n)...) }

// IsEmpty reports whether bucket i holds nothing.
func (b *Buckets) IsEmpty(i uint32) bool { return b.heads[i] == nil }

// Add puts t into bucket i.
func (b *Buckets) Add(i uint32, t *Timeout, tag uint8) {
	c := b.heads[i]
	if c == nil || c.n == chunkLen {
		c = b.newChunk(i)
	}
	c.tags[c.n], c.timeouts[c.n] = tag, t
	c.n++
	b.count++
	t.place = c
}

// Remove takes t out of its bucket and returns which one that was.
func (b *Buckets) Remove(t *Timeout) (i uint32) {
	c := t.place
	b.vacate(c, uint8(slices.Index(c.timeouts[:c.n], t)))
	t.place = nil
	return c.bucket
}

// Sift takes the timeouts tagged tag out of bucket i and appends them to taken,
// in the order of their adding as long as nothing was removed in between. It
// returns the distance from tag, going up, to the nearest tag that stays, or 0
// if the bucket is empty.
func (b *Buckets) Sift(i uint32, tag uint8, taken []*Timeout) (_ []*Timeout, nearest uint8) {
	from := len(taken)
	// From the newest entry to the oldest. What vacate moves into a hole comes
	// from the first chunk's end, which by then is known to stay.
	for c := b.heads[i]; c != nil; {
		older := c.next // vacate may free c
		for j := c.n; j > 0; j-- {
			if gap := c.tags[j-1] - tag; gap == 0 {
				taken = append(taken, c.timeouts[j-1])
				b.vacate(c, j-1)
			} else if nearest == 0 || gap < nearest {
				nearest = gap
			}
		}
		c = older
	}
	slices.Reverse(taken[from:])
	return taken, nearest
}

// All yields every timeout in every bucket. The loop must not change them.
func (b *Buckets) All(yield func(*Timeout) bool) {
	for _, c := range b.heads {
		for ; c != nil; c = c.next {
			for _, t := range c.timeouts[:c.n] {
				if !yield(t) {
					return
				}
			}
		}
	}
}

// vacate fills entry j of c with the last entry of the bucket's first chunk.
func (b *Buckets) vacate(c *chunk, j uint8) {
	b.count--
	first := b.heads[c.bucket]
	first.n--
	last := first.n
	if first != c || last != j {
		moved := first.timeouts[last]
		c.tags[j], c.timeouts[j] = first.tags[last], moved
		if first != c {
			moved.place = c
		}
	}
	first.timeouts[last] = nil
	if last == 0 {
		b.heads[c.bucket] = first.next
		b.free(first)
	}
}

func (b *Buckets) newChunk(i uint32) *chunk {
	c := b.spare
	if c == nil {
		c = new(chunk)
	} else {
		b.spare = c.next
		b.spares--
	}
	c.bucket, c.next = i, b.heads[i]
	b.heads[i] = c
	return c
}

func (b *Buckets) free(c *chunk) {
	c.next = nil
	if b.spares < maxSpare {
		c.next = b.spare
		b.spare = c
		b.spares++
	}
}
