package store

import (
	"unsafe"

	"github.com/hashedwheel/hwt/internal/cacheline"
)

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
