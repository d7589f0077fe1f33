package engine

import (
	"time"

	"github.com/hashedwheel/hwt/internal/engine/store"
	"github.com/hashedwheel/hwt/internal/inspection"
)

// visible is a Wheel that package inspect can look into. Its methods are called by
// the holder of Core.mu.
type visible interface {
	Wheel

	// Rings appends the rings of buckets, their spans in ticks, the finest first.
	Rings(rings []Ring) []Ring
}

// Ring is one ring of a wheel's buckets. They have numbers in a row in [store.Buckets].
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
func (o observer) locate(rings []Ring, g store.Group) (ring, bucket int) {
	for i, r := range rings {
		if at := g.Bucket - r.First; at < uint32(r.Buckets) {
			return i, int(at)
		}
	}
	tick := o.core.timer.tickOf(timeoutOf(g.First).state.load().Deadline())
	for i, r := range rings {
		if tick/r.Span < o.core.schedule.tick/r.Span+int64(r.Buckets) {
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
type observer struct{ core *Core }

// Rings implements inspection.Worker.
func (o observer) Rings() []inspection.Ring {
	c := o.core
	c.mu.Lock()
	defer c.mu.Unlock()
	rings, now := o.rings(), c.timer.now()
	seen := make([]inspection.Ring, len(rings))
	for i, r := range rings {
		span := r.Span * c.timer.tickDur
		seen[i] = inspection.Ring{
			Buckets: r.Buckets,
			Span:    time.Duration(span),
			Hand:    r.hand(now / c.timer.tickDur),
			Turned:  time.Duration(now % span),
		}
	}
	return seen
}

// rings returns the rings of the wheel; none if Stop took it. Guarded by mu.
func (o observer) rings() []Ring {
	if w, ok := o.core.schedule.wheel.(visible); ok {
		return w.Rings(nil)
	}
	return nil
}

// groupCount is the number of timeouts in a part of a bucket.
type groupCount struct{ ring, bucket, n int }

// Count implements inspection.Worker.
func (o observer) Count(add func(ring, bucket, n int)) {
	if o.core.signal.phase.Load() == asleep { // otherwise new timeouts are unseen until the alarm
		o.core.drainAll()
	}
	seen := make([]groupCount, 0, inspection.Batch)
	var at store.Cursor
	for more := true; more; {
		seen, more = o.countSome(seen[:0], &at)
		for _, t := range seen {
			add(t.ring, t.bucket, t.n)
		}
	}
}

// countSome appends the counts of some chunks from at on. It returns false at the end.
func (o observer) countSome(seen []groupCount, at *store.Cursor) (_ []groupCount, more bool) {
	c := o.core
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.schedule.wheel.(visible)
	if !ok {
		return nil, false
	}
	rings := w.Rings(nil)
	more = w.Held().Groups(at, inspection.Batch, func(g store.Group) {
		ring, bucket := o.locate(rings, g)
		seen = append(seen, groupCount{ring, bucket, g.Len})
	})
	return seen, more
}
