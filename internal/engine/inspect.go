package engine

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/internal/inspection"
)

// visible is a Wheel that package inspect can look into. Its methods are called by
// the holder of Core.mu.
type visible interface {
	Wheel

	// Rings appends the rings of buckets, their spans in ticks, the finest first.
	Rings(rings []Ring) []Ring
}

// Ring is one ring of a wheel's buckets. They have numbers in a row in [Buckets].
type Ring struct {
	First   uint32 // number of the ring's bucket 0
	Buckets int
	Span    int64 // ticks that a bucket stands for
}

// hand returns the ring's bucket for tick.
func (r Ring) hand(tick int64) int { return int(tick / r.Span % int64(r.Buckets)) }

// locate returns in which ring, and which bucket of it, the group waits. A bucket
// outside the rings, such as a part of a full one, counts for the finest ring that
// reaches the deadline of its first timeout.
func (c *Core) locate(rings []Ring, g group) (ring, bucket int) {
	for i, r := range rings {
		if at := g.bucket - r.First; at < uint32(r.Buckets) {
			return i, int(at)
		}
	}
	tick := c.tickOf(deadlineOf(atomic.LoadInt64(&g.first.state)))
	for i, r := range rings {
		if tick/r.Span < c.tick/r.Span+int64(r.Buckets) {
			return i, r.hand(tick)
		}
	}
	last := len(rings) - 1
	return last, rings[last].hand(tick)
}

// Workers implements inspection.View.
func (h *Handle) Workers() []inspection.Worker {
	seen := make([]inspection.Worker, len(h.workers))
	for i := range h.workers {
		seen[i] = observer{h.workers[i].core}
	}
	return seen
}

// observer is a worker as package inspect sees it.
type observer struct{ *Core }

// Rings implements inspection.Worker.
func (o observer) Rings() []inspection.Ring {
	c := o.Core
	c.mu.Lock()
	defer c.mu.Unlock()
	rings, now := c.rings(), c.now()
	seen := make([]inspection.Ring, len(rings))
	for i, r := range rings {
		span := r.Span * c.tickDur
		seen[i] = inspection.Ring{
			Buckets: r.Buckets,
			Span:    time.Duration(span),
			Hand:    r.hand(now / c.tickDur),
			Turned:  time.Duration(now % span),
		}
	}
	return seen
}

// rings returns the rings of the wheel; none if Stop took it. Guarded by mu.
func (c *Core) rings() []Ring {
	if w, ok := c.wheel.(visible); ok {
		return w.Rings(nil)
	}
	return nil
}

// groupCount is how many timeouts of a bucket were counted.
type groupCount struct{ ring, bucket, n int }

// Count implements inspection.Worker.
func (o observer) Count(add func(ring, bucket, n int)) {
	seen := make([]groupCount, 0, inspection.Batch)
	for at := chunkID(1); at != 0; {
		seen, at = o.countSome(seen[:0], at)
		for _, t := range seen {
			add(t.ring, t.bucket, t.n)
		}
	}
}

// countSome appends what the chunks from at on hold, and returns where to go on; 0
// at the end.
func (c *Core) countSome(seen []groupCount, at chunkID) (_ []groupCount, next chunkID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.wheel.(visible)
	if !ok {
		return nil, 0
	}
	rings := w.Rings(nil)
	next = w.Held().each(at, inspection.Batch, func(g group) {
		ring, bucket := c.locate(rings, g)
		seen = append(seen, groupCount{ring, bucket, g.n})
	})
	return seen, next
}

// group is what a chunk or a single holds.
type group struct {
	bucket uint32
	first  *Timeout
	n      int
}

// each calls f with what n chunks and singles hold, those that are empty excepted, from
// the one that at names on, chunks first. It returns the one to go on with; 0 if there
// are no more.
func (b *Buckets) each(at chunkID, n int, f func(group)) (next chunkID) {
	if !at.isSingle() {
		if at, n = b.chunks.each(at, n, f); at != 0 {
			return at
		}
		at = alone | 1
	}
	for ; n > 0; n-- {
		if int(at&^alone) > b.singles.made {
			return 0
		}
		if s := b.singles.at(at); s.timeout != nil {
			f(group{s.bucket, s.timeout, 1})
		}
		at++
	}
	return at
}

// each is Buckets.each for chunks. It returns what is left of n, too.
func (s *chunks) each(at chunkID, n int, f func(group)) (next chunkID, left int) {
	for ; n > 0; n-- {
		i := int(at-1) / slabLen
		if i >= len(s.slabs) {
			return 0, n
		}
		sl := &s.slabs[i]
		if int(at-1)%slabLen >= int(sl.made) || sl.used == 0 {
			at = chunkID((i+1)*slabLen) + 1
			continue
		}
		if k := s.at(at); k.n > 0 {
			f(group{k.bucket, k.timeouts[0], int(k.n)})
		}
		at++
	}
	return at, 0
}
