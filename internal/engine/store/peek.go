package store

// maxPeeked is the greatest number of chunks that Peek reads. It bounds the time that Peek
// takes in a bucket that is full of other tags.
const maxPeeked = 64

// Peek appends the nodes tagged tag in bucket i to nodes. It returns false, and any part of
// them, if there are more than limit or if the bucket is long.
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
