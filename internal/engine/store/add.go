package store

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
