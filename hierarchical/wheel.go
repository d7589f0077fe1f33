package hierarchical

import (
	"math"
	"sync/atomic"

	"github.com/hashedwheel/hwt/hierarchical/internal/delayqueue"
	"github.com/hashedwheel/hwt/internal/engine"
)

// level is one wheel of the hierarchy. Its buckets stand for the spans of ticks
// that begin with the current one's; when time moves on to the next, the bucket
// left behind stands for the span after the last.
type level struct {
	unit    int64 // ticks a bucket spans: 1 on the lowest level, above it what a whole level below spans
	limit   int64 // the first tick out of the level's reach
	buckets []bucket
}

// wheel files a timeout on the lowest level that reaches its tick, in the bucket
// whose span the tick is in. A bucket waits in the delay queue, and is due at
// the first tick of its span. On the lowest level, that is when its timeouts
// are due. Further up the core finds that they are not yet, and adds them
// again: they cascade, to a lower level, since the levels below reach a
// bucket's whole span when it begins.
//
// At any tick, the current one included, a bucket so stands for one span only,
// and its place in the delay queue is right for whatever is added to it.
type wheel struct {
	levels []level
	set    engine.Buckets // what is in the buckets
	counts []int32        // how many are in each
	queue  *delayqueue.Queue[content]
	spare  []*split
	tick   int64 // the current one
	size   int64 // buckets a level. Immutable after New.
	crowd  int32 // timeouts in a bucket that is full. Immutable after New.
	height *atomic.Int64
}

// newWheel returns a wheel with levels of size buckets. It stores in height how
// many levels there are.
func newWheel(size int, height *atomic.Int64) *wheel {
	height.Store(1)
	return &wheel{queue: delayqueue.New[content](), size: int64(size), crowd: crowd, height: height}
}

// grow adds a level; the lowest one late, so that a wheel never used costs next
// to nothing.
func (w *wheel) grow() *level {
	l := level{unit: 1, buckets: make([]bucket, w.size)}
	if n := len(w.levels); n > 0 {
		l.unit = w.levels[n-1].unit * w.size // no overflow: a delay reaches beyond the level below
	}
	l.limit = w.limitOf(l.unit)
	w.adopt(l.buckets, nil)
	w.levels = append(w.levels, l)
	w.height.Store(int64(len(w.levels)))
	return &w.levels[len(w.levels)-1]
}

// limitOf returns the limit of a level at the current tick.
func (w *wheel) limitOf(unit int64) int64 { return (w.tick/unit + w.size) * unit }

// MoveTo implements engine.Wheel. A level's limit moves only when that of the
// level below does.
func (w *wheel) MoveTo(tick int64) {
	w.tick = tick
	for i := range w.levels {
		l := &w.levels[i]
		limit := w.limitOf(l.unit)
		if limit == l.limit {
			break
		}
		l.limit = limit
	}
}

// Add implements engine.Wheel.
func (w *wheel) Add(t *engine.Timeout, tick int64) {
	b, first := w.bucketOf(tick)
	w.set.Add(b.Value.index, t, 0)
	w.counts[b.Value.index]++
	w.enqueue(b, first)
}

// bucketOf returns the bucket that takes what is due at tick, and the first tick
// of its span.
func (w *wheel) bucketOf(tick int64) (b *bucket, first int64) {
	l := w.levelOf(tick)
	n := tick / l.unit
	b, first = &l.buckets[n%w.size], n*l.unit
	for unit := l.unit; unit > 1 && w.counts[b.Value.index] >= w.crowd; {
		s := b.Value.parts
		if s == nil {
			s = w.split(b, unit)
		}
		n = (tick - first) / s.unit
		b, first, unit = &s.buckets[n], first+n*s.unit, s.unit
	}
	return b, first
}

// levelOf returns the lowest level that reaches tick.
func (w *wheel) levelOf(tick int64) *level {
	for i := range w.levels {
		if l := &w.levels[i]; tick < l.limit {
			return l
		}
	}
	for {
		if l := w.grow(); tick < l.limit {
			return l
		}
	}
}

// Remove implements engine.Wheel. A bucket left empty stays in the delay queue
// until it comes to the head.
func (w *wheel) Remove(t *engine.Timeout) { w.counts[w.set.Remove(t)]-- }

// Prefetch implements engine.Wheel. Where a timeout is to be added, only adding it
// tells.
func (w *wheel) Prefetch(moves []engine.Move) { w.set.PrefetchRemove(moves) }

// Expire implements engine.Wheel.
func (w *wheel) Expire(due []*engine.Timeout) []*engine.Timeout {
	for b := w.take(w.tick); b != nil; b = w.take(w.tick) {
		due, _ = w.set.Sift(b.Value.index, 0, due)
		w.counts[b.Value.index] = 0
	}
	return due
}

// Next implements engine.Wheel. It is exact, since it drops empty buckets from
// the head of the delay queue.
func (w *wheel) Next() int64 {
	for b := w.queue.Head(); b != nil && w.counts[b.Value.index] == 0; b = w.queue.Head() {
		w.take(math.MaxInt64)
	}
	return w.queue.Next()
}

// All implements engine.Wheel.
func (w *wheel) All(yield func(*engine.Timeout) bool) { w.set.All(yield) }
