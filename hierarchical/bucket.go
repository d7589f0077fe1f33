package hierarchical

import "github.com/hashedwheel/hwt/hierarchical/internal/delayqueue"

// When the tick of a bucket of an upper level has come, all timeouts of the bucket are stored
// again, which delays the tasks of that tick. Therefore a bucket takes at most maxBucketLen
// timeouts. Further ones go to the finer buckets of a sub-wheel. The finer buckets are
// collected at their first ticks, and get sub-wheels in turn. However many timeouts are due at
// about the same time, a tick stores at most maxBucketLen again for each size of bucket that
// begins at the tick.
//
// The buckets of a sub-wheel take three kilobytes: three bytes for each timeout of a full
// bucket.

const (
	maxBucketLen = 1024
	subBuckets   = 64 // buckets of a sub-wheel
)

// bucket is a span of ticks as the delay queue knows it: due at the first of the ticks.
// store.Buckets holds the timeouts.
//
// A bucket that has a sub-wheel is queued, since only queued buckets fill. When the bucket
// is taken out of the queue, the sub-wheel is detached and continues alone.
type bucket = delayqueue.Item[content]

type content struct {
	index uint32    // in store.Buckets. Immutable once made.
	of    *subWheel // that the bucket belongs to; nil for a level's bucket. Immutable once made.
	sub   *subWheel // may be nil
}

// subWheel is the finer buckets of a full one.
type subWheel struct {
	unit     int64  // span of a bucket in ticks
	queued   int    // buckets in the delay queue
	detached bool   // the bucket above was taken before the sub-wheel
	first    uint32 // the number of the first bucket in store.Buckets. Immutable once made.
	buckets  [subBuckets]bucket
}

// divide gives b, a bucket of unit ticks, a sub-wheel.
func (w *wheel) divide(b *bucket, unit int64) *subWheel {
	s := w.newSubWheel()
	s.unit, s.detached = (unit-1)/subBuckets+1, false
	b.Value.sub = s
	return s
}

// newSubWheel makes a sub-wheel, or takes a free one.
func (w *wheel) newSubWheel() *subWheel {
	w.subWheels++
	if n := len(w.freeSubWheels); n > 0 {
		s := w.freeSubWheels[n-1]
		w.freeSubWheels = w.freeSubWheels[:n-1]
		return s
	}
	s := new(subWheel)
	s.first = w.adopt(s.buckets[:], s)
	return s
}

// adopt numbers new buckets. The buckets belong to s or, if s is nil, to a level. adopt
// returns the number of the first.
func (w *wheel) adopt(buckets []bucket, s *subWheel) (first uint32) {
	first = uint32(len(w.counts))
	for i := range buckets {
		buckets[i].Value = content{index: first + uint32(i), of: s}
	}
	w.set.Grow(len(buckets))
	w.counts = append(w.counts, make([]int32, len(buckets))...)
	return first
}

// enqueue lets b wait for the first tick of b, unless b is queued.
func (w *wheel) enqueue(b *bucket, first int64) {
	if w.queue.Put(b, first) && b.Value.of != nil {
		b.Value.of.queued++
	}
}

// take removes the earliest bucket from the delay queue, if the bucket is due at tick.
func (w *wheel) take(tick int64) *bucket {
	b := w.queue.Take(tick)
	if b == nil {
		return nil
	}
	if s := b.Value.sub; s != nil {
		s.detached = true
		b.Value.sub = nil
		w.retire(s)
	}
	if s := b.Value.of; s != nil {
		s.queued--
		w.retire(s)
	}
	return b
}

// retire keeps s for reuse if s is empty and stays empty.
func (w *wheel) retire(s *subWheel) {
	if s.detached && s.queued == 0 {
		w.freeSubWheels = append(w.freeSubWheels, s)
		w.subWheels--
	}
}
