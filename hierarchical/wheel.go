package hierarchical

import (
	"math"
	"sync/atomic"

	"github.com/hashedwheel/hwt/hierarchical/internal/delayqueue"
	"github.com/hashedwheel/hwt/internal/engine/store"
)

// level is one wheel of the hierarchy. The buckets stand for consecutive spans of ticks,
// and the first span has the current tick. When the time reaches the next span, the bucket
// of the first span stands for the span after the last.
type level struct {
	unit    int64  // span of a bucket in ticks: 1 on the lowest level, above it the span of the level below
	limit   int64  // the first tick out of the level's reach
	first   uint32 // the number of the first bucket in store.Buckets
	buckets []bucket
}

// wheel files a timeout on the lowest level that reaches its tick, in the bucket with a span
// that contains the tick. A bucket waits in the delay queue, and is due at the first tick of
// its span. On the lowest level, the timeouts are then due. On an upper level, the core finds
// later deadlines and adds the timeouts again. They cascade to a lower level: when a bucket's
// span begins, the levels below reach the whole span.
//
// At any tick, the current one included, a bucket stands for one span only, and the place
// of the bucket in the delay queue is right for every timeout added to the bucket.
type wheel struct {
	levels        []level
	set           store.Buckets // the content of the buckets
	counts        []int32       // how many are in each
	queue         *delayqueue.Queue[content]
	freeSubWheels []*subWheel
	subWheels     int   // in use
	tick          int64 // the current one
	size          int64 // buckets a level. Immutable after New.
	maxBucketLen  int32 // timeouts in a bucket that is full. Immutable after New.
	levelCount    *atomic.Int64
}

// newWheel returns a wheel with levels of size buckets. newWheel counts the levels in
// levelCount, which the wheels of one timer share; the highest wheel counts.
func newWheel(size int, levelCount *atomic.Int64) *wheel {
	levelCount.Store(1)
	return &wheel{queue: delayqueue.New[content](), size: int64(size), maxBucketLen: maxBucketLen, levelCount: levelCount}
}

// grow adds a level; the lowest one late, so that a wheel never used costs next
// to nothing.
func (w *wheel) grow() *level {
	l := level{unit: 1, buckets: make([]bucket, w.size)}
	if n := len(w.levels); n > 0 {
		l.unit = w.levels[n-1].unit * w.size // no overflow: a delay reaches beyond the level below
	}
	l.limit = w.limitOf(l.unit)
	l.first = w.adopt(l.buckets, nil)
	w.levels = append(w.levels, l)
	w.raiseLevelCount(int64(len(w.levels)))
	return &w.levels[len(w.levels)-1]
}

// raiseLevelCount makes levelCount at least n. The loop ends: each turn means that another
// wheel raised levelCount.
func (w *wheel) raiseLevelCount(n int64) {
	for {
		if now := w.levelCount.Load(); now >= n || w.levelCount.CompareAndSwap(now, n) {
			return
		}
	}
}

// limitOf returns the limit of a level at the current tick.
func (w *wheel) limitOf(unit int64) int64 { return (w.tick/unit + w.size) * unit }

// MoveTo implements engine.Wheel. A level's limit moves only when the limit of the level below
// moves.
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

// Add implements engine.Wheel. A bucket that holds something is queued already, so Add does
// not read the item of the bucket, which may be outside the processor's cache.
func (w *wheel) Add(t *store.Node, tick int64) {
	p := w.descend(w.levelOf(tick), tick, true)
	w.set.Add(p.index, t, 0)
	if w.counts[p.index]++; w.counts[p.index] == 1 {
		w.enqueue(p.bucket, p.first)
	}
}

// place is a bucket with a position in time.
type place struct {
	bucket *bucket
	index  uint32 // in store.Buckets
	first  int64  // the first tick of the bucket's span
}

// descend returns the place of the bucket of l for tick, or of the finer bucket below.
// Without divide, a full bucket gets no sub-wheel.
func (w *wheel) descend(l *level, tick int64, divide bool) place {
	n := tick / l.unit
	i := n % w.size
	p, unit := place{&l.buckets[i], l.first + uint32(i), n * l.unit}, l.unit
	for unit > 1 && w.counts[p.index] >= w.maxBucketLen {
		s := p.bucket.Value.sub
		if s == nil {
			if !divide {
				return p
			}
			s = w.divide(p.bucket, unit)
		}
		n = (tick - p.first) / s.unit
		p = place{&s.buckets[n], s.first + uint32(n), p.first + n*s.unit}
		unit = s.unit
	}
	return p
}

// levelOf returns the lowest level that reaches tick.
func (w *wheel) levelOf(tick int64) *level {
	if l := w.reaching(tick); l != nil {
		return l
	}
	for {
		if l := w.grow(); tick < l.limit {
			return l
		}
	}
}

// reaching returns the lowest level that reaches tick; nil if the level does not exist yet.
func (w *wheel) reaching(tick int64) *level {
	for i := range w.levels {
		if l := &w.levels[i]; tick < l.limit {
			return l
		}
	}
	return nil
}

// Remove implements engine.Wheel. An emptied bucket stays in the delay queue until the
// bucket comes to the head.
func (w *wheel) Remove(t *store.Node) { w.counts[w.set.Remove(t)]-- }

// Bucket implements engine.Wheel. Where Add would make a level or a sub-wheel, it returns
// no bucket, or the full bucket.
func (w *wheel) Bucket(tick int64) (uint32, bool) {
	if l := w.reaching(tick); l != nil {
		return w.descend(l, tick, false).index, true
	}
	return 0, false
}

// Expire implements engine.Wheel.
func (w *wheel) Expire(due []*store.Node) []*store.Node {
	for b := w.take(w.tick); b != nil; b = w.take(w.tick) {
		due, _ = w.set.TakeTagged(b.Value.index, 0, due)
		w.counts[b.Value.index] = 0
	}
	return due
}

// Next implements engine.Wheel. The result is exact, since Next drops empty buckets from
// the head of the delay queue.
func (w *wheel) Next() int64 {
	for b := w.queue.Head(); b != nil && w.counts[b.Value.index] == 0; b = w.queue.Head() {
		w.take(math.MaxInt64)
	}
	return w.queue.Next()
}

// Peek implements engine.Wheel. Peek examines the buckets of all levels that begin with
// tick. A sub-wheel could have such buckets, too, but only where there are many timeouts.
func (w *wheel) Peek(tick int64, limit int, nodes []*store.Node) (_ []*store.Node, ok bool) {
	if w.subWheels > 0 {
		return nodes, false
	}
	limit += len(nodes)
	for i := range w.levels {
		l := &w.levels[i]
		if tick%l.unit != 0 || tick >= l.limit {
			continue
		}
		if nodes, ok = w.set.Peek(l.first+uint32(tick/l.unit%w.size), 0, limit-len(nodes), nodes); !ok {
			return nodes, false
		}
	}
	return nodes, true
}

// Held implements engine.Wheel.
func (w *wheel) Held() *store.Buckets { return &w.set }
