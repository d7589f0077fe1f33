package store

// Cursor is the position of a pass through the chunks and singles in use. The zero value
// is the start.
type Cursor struct{ chunk, single int }

// MaxVisit is the greatest number of nodes in one Visit.
const MaxVisit = chunkLen

// Visit moves c past the next chunk in use, or past some singles, and calls see for each node
// there. Visit returns the cost in nodes, chunks and singles, and false at the end of the
// pass.
func (b *Buckets) Visit(c *Cursor, see func(*Node)) (cost int, ok bool) {
	k, next := b.chunks.from(c.chunk)
	cost, c.chunk = MaxVisit+next-c.chunk, next
	if k != nil {
		for _, n := range k.nodes[:k.n] {
			see(n)
		}
		return cost, true
	}
	if c.single >= b.singles.made { // greater once release has reset the store
		return cost, false
	}
	for end := min(c.single+MaxVisit, b.singles.made); c.single < end; c.single++ {
		if n := b.singles.numbered(c.single).node; n != nil {
			see(n)
		}
	}
	return cost, true
}

// Group is the content of a chunk or single.
type Group struct {
	Bucket uint32
	First  *Node
	Len    int
}

// Groups moves c past about n chunks and singles, and calls f for each that is in use.
// Groups returns false at the end of the pass.
func (b *Buckets) Groups(c *Cursor, n int, f func(Group)) bool {
	for n > 0 {
		k, next := b.chunks.from(c.chunk)
		passed := next - c.chunk
		if c.chunk = next; k == nil {
			break
		}
		n -= passed
		f(Group{k.bucket, k.nodes[0], int(k.n)})
	}
	for ; n > 0 && c.single < b.singles.made; n-- {
		s := b.singles.numbered(c.single)
		c.single++
		if s.node != nil {
			f(Group{s.bucket, s.node, 1})
		}
	}
	return n <= 0
}

// All yields every node in every bucket. The loop must not change the buckets.
func (b *Buckets) All(yield func(*Node) bool) {
	for _, id := range b.heads {
		if id.isSingle() {
			if !yield(b.singles.at(id).node) {
				return
			}
			continue
		}
		for id != 0 {
			c := b.chunks.at(id)
			for _, n := range c.nodes[:c.n] {
				if !yield(n) {
					return
				}
			}
			id = c.next
		}
	}
}
