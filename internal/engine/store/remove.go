package store

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
