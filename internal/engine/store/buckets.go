// Package store keeps the timeouts of a wheel in buckets. It knows a timeout by its
// [Node] only. Nothing in it is safe for concurrent use.
package store

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

// report tells the watcher that n has another place.
func (b *Buckets) report(n *Node) {
	if b.Watcher != nil {
		b.Watcher.Moved(n)
	}
}
