package hierarchical

import "github.com/hashedwheel/hwt/hierarchical/internal/delayqueue"

// A bucket of many ticks that comes due is filed again at one tick, while the
// tasks of that tick wait: the more there is to do, the later. So no bucket
// takes more than a crowd of timeouts. What comes after goes into finer buckets
// of its own, its parts, which come due at their own first ticks, and split in
// turn. However many timeouts are due at about the same time, what is filed
// again at a tick is a crowd for each size of bucket that begins there, at most.
//
// The buckets of a split take three kilobytes, which is three bytes for each
// timeout of the crowd that it takes to have one.

const (
	crowd = 1024 // timeouts in a bucket that is full
	parts = 64   // finer buckets of a full one
)

// bucket is a span of ticks as the delay queue knows it: due at its first. What
// is in it, engine.Buckets holds.
//
// A bucket that has parts is queued, since only what is queued fills. When it is
// taken out of the queue it forgets its parts, and they are on their own.
type bucket = delayqueue.Item[content]

type content struct {
	index uint32 // in engine.Buckets. Immutable once made.
	of    *split // that this is a part of; nil for a level's bucket. Immutable once made.
	parts *split // nil if there are none
}

// split is a set of parts.
type split struct {
	unit    int64 // ticks a part spans
	queued  int   // parts in the delay queue
	alone   bool  // the bucket that was split has forgotten it
	buckets [parts]bucket
}

// split gives b, a bucket of unit ticks, its parts.
func (w *wheel) split(b *bucket, unit int64) *split {
	s := w.newSplit()
	s.unit, s.alone = (unit-1)/parts+1, false
	b.Value.parts = s
	return s
}

// newSplit makes a split, or takes one that is done with.
func (w *wheel) newSplit() *split {
	if n := len(w.spare); n > 0 {
		s := w.spare[n-1]
		w.spare = w.spare[:n-1]
		return s
	}
	s := new(split)
	w.adopt(s.buckets[:], s)
	return s
}

// adopt numbers new buckets, which are parts of s or a level's own.
func (w *wheel) adopt(buckets []bucket, s *split) {
	first := uint32(len(w.counts))
	for i := range buckets {
		buckets[i].Value = content{index: first + uint32(i), of: s}
	}
	w.set.Grow(len(buckets))
	w.counts = append(w.counts, make([]int32, len(buckets))...)
}

// enqueue lets b wait for its first tick, if it does not already.
func (w *wheel) enqueue(b *bucket, first int64) {
	if w.queue.Put(b, first) && b.Value.of != nil {
		b.Value.of.queued++
	}
}

// take takes the bucket out of the delay queue that is due first, if it is due
// at tick. Its parts go on without it.
func (w *wheel) take(tick int64) *bucket {
	b := w.queue.Take(tick)
	if b == nil {
		return nil
	}
	if s := b.Value.parts; s != nil {
		s.alone = true
		b.Value.parts = nil
		w.retire(s)
	}
	if s := b.Value.of; s != nil {
		s.queued--
		w.retire(s)
	}
	return b
}

// retire keeps s for reuse if nothing is in it, nor will be.
func (w *wheel) retire(s *split) {
	if s.alone && s.queued == 0 {
		w.spare = append(w.spare, s)
	}
}
