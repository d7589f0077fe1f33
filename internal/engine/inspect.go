package engine

import (
	"time"

	"github.com/hashedwheel/hwt/internal/engine/store"
	"github.com/hashedwheel/hwt/internal/inspection"
)

// hand returns the ring's bucket for tick.
func (r Ring) hand(tick int64) int { return int(tick / r.Span % int64(r.Buckets)) }

// locate returns the ring and the bucket of a group. A bucket outside the rings, such as a
// part of a full bucket, counts for the finest ring that reaches the deadline of the first
// timeout.
func (o observer) locate(rings []Ring, g store.Group) (ring, bucket int) {
	for i, r := range rings {
		if at := g.Bucket - r.First; at < uint32(r.Buckets) {
			return i, int(at)
		}
	}
	tick := o.core.schedule.tickOf(timeoutOf(g.First).state.load().Deadline())
	for i, r := range rings {
		if tick/r.Span < o.core.schedule.tick/r.Span+int64(r.Buckets) {
			return i, r.hand(tick)
		}
	}
	last := len(rings) - 1
	return last, rings[last].hand(tick)
}

// View is a timer as package inspect sees it. View implements inspection.View.
type View struct{ Handle *Handle }

// Name returns the timer's name.
func (v View) Name() string { return v.Handle.workers.env().runner.Name }

// Workers returns the timer's workers.
func (v View) Workers() []inspection.Worker {
	seen := make([]inspection.Worker, len(v.Handle.workers))
	for i, w := range v.Handle.workers {
		seen[i] = observer{w.core}
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
	if c.schedule.wheel == nil { // Stop has taken the wheel
		return nil
	}
	rings, now := c.schedule.wheel.Rings(nil), c.env.clock.Now()
	seen := make([]inspection.Ring, len(rings))
	for i, r := range rings {
		span := r.Span * c.env.tickDur
		seen[i] = inspection.Ring{
			Buckets: r.Buckets,
			Span:    time.Duration(span),
			Hand:    r.hand(now / c.env.tickDur),
			Turned:  time.Duration(now % span),
		}
	}
	return seen
}

// groupCount is the number of timeouts in a part of a bucket.
type groupCount struct{ ring, bucket, n int }

// Count implements inspection.Worker.
func (o observer) Count(add func(ring, bucket, n int)) {
	if o.core.intake.phase.Load() == asleep { // otherwise new timeouts are unseen until the alarm
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

// countSome appends the counts of some chunks from at on. countSome returns false at the
// end.
func (o observer) countSome(seen []groupCount, at *store.Cursor) (_ []groupCount, more bool) {
	c := o.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schedule.wheel == nil {
		return nil, false
	}
	rings := c.schedule.wheel.Rings(nil)
	more = c.schedule.wheel.Held().Groups(at, inspection.Batch, func(g store.Group) {
		ring, bucket := o.locate(rings, g)
		seen = append(seen, groupCount{ring, bucket, g.Len})
	})
	return seen, more
}
