package store

import "slices"

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
