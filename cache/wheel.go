package cache

import "math/bits"

// A tick of the wheel is about a millisecond.
const tickBits = 20

const (
	levelBits   = 6
	levelSize   = 1 << levelBits
	levelCount  = (63-tickBits)/levelBits + 1
	maxFarTicks = 1<<31 - 1
)

// wheel is a hierarchical timing wheel of slots, as in Linux and tokio. A bucket of level 0
// is for one tick, and a bucket of the next level for 64 buckets of the level below. A slot
// is filed at the level of the highest bits in which the slot's tick differs from the
// current tick. When the wheel reaches a bucket, the bucket's slots are reinserted on lower
// levels. Guarded by the stripe's mu.
type wheel[K comparable] struct {
	levels [levelCount]*level // nil until needed
	now    int64              // the current tick: earlier buckets are empty
}

// level is a row of buckets, each a list of slots.
type level struct {
	heads    [levelSize]uint32 // 0 if empty
	occupied uint64            // a bit for each bucket that is not empty
}

// tickOf returns the first tick that is not before due.
func tickOf(due int64) int64 { return (due-1)>>tickBits + 1 }

// file files slot n for tick. file returns the tick at which the wheel must be examined for
// n, which may be earlier.
func (w *wheel[K]) file(s *slots[K], n uint32, tick int64) int64 {
	tick = min(max(tick, w.now), w.now+maxFarTicks)
	l := max(bits.Len64(uint64(tick^w.now))-1, 0) / levelBits
	i := tick >> (l * levelBits) % levelSize
	if w.levels[l] == nil {
		w.levels[l] = new(level)
	}
	head := &w.levels[l].heads[i]
	at := s.at(n)
	at.tick, at.bucket = uint32(tick), uint16(l*levelSize+int(i)+1)
	at.prev, at.next = 0, *head
	if *head != 0 {
		s.at(*head).prev = n
	}
	*head = n
	w.levels[l].occupied |= 1 << i
	return w.start(l, int(i))
}

// unfile removes slot n from its bucket, if n is filed.
func (w *wheel[K]) unfile(s *slots[K], n uint32) {
	at := s.at(n)
	if at.bucket == 0 {
		return
	}
	l, i := int(at.bucket-1)/levelSize, (at.bucket-1)%levelSize
	if at.prev != 0 {
		s.at(at.prev).next = at.next
	} else if w.levels[l].heads[i] = at.next; at.next == 0 {
		w.levels[l].occupied &^= 1 << i
	}
	if at.next != 0 {
		s.at(at.next).prev = at.prev
	}
	at.next, at.prev, at.bucket = 0, 0, 0
}

// start returns the first tick of a bucket that is not before the current one.
func (w *wheel[K]) start(l, i int) int64 {
	shift := l * levelBits
	return w.now>>(shift+levelBits)<<(shift+levelBits) | int64(i)<<shift
}

// next returns the tick at which the wheel must be examined next, and the first slot
// of the bucket of that tick. The slot is 0 if the wheel is empty.
func (w *wheel[K]) next() (tick int64, head uint32) {
	tick = never
	for l, level := range w.levels {
		if level == nil || level.occupied == 0 {
			continue
		}
		i := bits.TrailingZeros64(level.occupied)
		if start := w.start(l, i); start < tick {
			tick, head = start, level.heads[i]
		}
	}
	return tick, head
}

// maxRefiles bounds the number of slots that one call of pop files again.
const maxRefiles = 1024

// pop unfiles and returns a slot that was filed for tick at or before, or 0. If more
// is true, other slots may be due: pop has filed many slots again, and the caller
// should release the stripe's mu before the next call.
func (w *wheel[K]) pop(s *slots[K], at int64) (n uint32, more bool) {
	for range maxRefiles {
		tick, head := w.next()
		if head == 0 || tick > at {
			w.now = max(w.now, at)
			return 0, false
		}
		w.now = max(w.now, tick)
		w.unfile(s, head)
		filed := w.now + int64(int32(s.at(head).tick-uint32(w.now)))
		if filed <= at {
			return head, true
		}
		w.file(s, head, filed)
	}
	return 0, true
}
