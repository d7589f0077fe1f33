package hashedwheel

import (
	"math"
	"math/bits"

	"github.com/hashedwheel/hwt/internal/engine"
)

// empty is the next tick of a bucket, or a wheel, in which nothing is filed.
const empty = math.MaxInt64

// minReach is how many buckets the search looks at after something expired.
const minReach = 1024

// wheel is an array of buckets. The timeouts of one bucket come due at ticks
// that are a multiple of the wheel's length apart; an entry's remaining rounds
// tell which. They are not counted down: an entry is tagged with the number of
// the rotation in which it expires, modulo 256, so that a rotation costs
// nothing, and its remaining rounds are the distance from the current one. What
// has to wait for longer than the 255 rounds that a tag can tell may be taken for
// due a multiple of 256 rotations too early; then the core files it again.
//
// next and nexts let the worker sleep over ticks at which no entry has zero
// remaining rounds, though their buckets be full.
type wheel struct {
	buckets engine.Buckets
	nexts   []int64 // for each bucket, a tick before which none of its entries expires
	next    int64   // a tick before which nothing expires
	tick    int64   // the current one
	reach   int     // how many buckets the next search looks at
	size    int     // a power of two
	shift   uint    // its binary logarithm
}

func newWheel(size int) *wheel {
	return &wheel{size: size, shift: uint(bits.TrailingZeros(uint(size))), next: empty, reach: minReach}
}

// build makes the buckets: late, so that a wheel never used costs next to
// nothing.
func (w *wheel) build() {
	w.buckets.Grow(w.size)
	w.nexts = make([]int64, w.size)
	for i := range w.nexts {
		w.nexts[i] = empty
	}
}

func (w *wheel) bucketOf(tick int64) uint32 { return uint32(tick) & uint32(w.size-1) }
func (w *wheel) rotation(tick int64) int64  { return tick >> w.shift }

// MoveTo implements engine.Wheel.
func (w *wheel) MoveTo(tick int64) { w.tick = tick }

// Add implements engine.Wheel.
func (w *wheel) Add(t *engine.Timeout, tick int64) {
	if w.nexts == nil {
		w.build()
	}
	i := w.bucketOf(tick)
	w.buckets.Add(i, t, uint8(w.rotation(tick)))
	w.nexts[i] = min(w.nexts[i], tick)
	w.next = min(w.next, tick)
}

// Remove implements engine.Wheel. As long as there is something left, next and
// nexts stay true, if not exact: the worker may wake once for nothing.
func (w *wheel) Remove(t *engine.Timeout) {
	if i := w.buckets.Remove(t); w.buckets.IsEmpty(i) {
		w.nexts[i] = empty
	}
	if w.buckets.Count() == 0 {
		w.next = empty
	}
}

// Prefetch implements engine.Wheel.
func (w *wheel) Prefetch(moves []engine.Move) {
	if w.nexts == nil {
		return
	}
	for _, m := range moves {
		w.buckets.PrefetchAdd(w.bucketOf(m.Tick)) // of any, if there is nothing to add
	}
	w.buckets.PrefetchRemove(moves)
}

// Expire implements engine.Wheel.
func (w *wheel) Expire(due []*engine.Timeout) []*engine.Timeout {
	if w.next > w.tick {
		return due
	}
	i, waiting := w.bucketOf(w.tick), len(due)
	if w.nexts[i] <= w.tick {
		var rounds uint8
		due, rounds = w.buckets.Sift(i, uint8(w.rotation(w.tick)), due)
		w.nexts[i] = empty
		if rounds > 0 {
			w.nexts[i] = w.tick + int64(rounds)<<w.shift
		}
	}
	if len(due) > waiting {
		w.reach = minReach
	}
	w.next = w.search()
	return due
}

// search finds the earliest of nexts. It looks at the buckets in the order in
// which they come, and stops at the first one that has something for its coming
// turn.
//
// It does not look all the way to what is far: that would be for nothing if
// something near is added meanwhile, and cost a rotation's steps at every tick.
// It gives up after reach steps and has the worker come again that many ticks
// later. The reach doubles each time, until something expires; so a wait takes
// no more steps than ticks, and a number of wake-ups that is logarithmic in its
// length.
func (w *wheel) search() int64 {
	if w.buckets.Count() == 0 {
		return empty
	}
	earliest := int64(empty)
	for ahead := range int64(min(w.reach, w.size)) {
		tick := w.tick + 1 + ahead
		next := w.nexts[w.bucketOf(tick)]
		if next <= tick {
			return tick
		}
		earliest = min(earliest, next)
	}
	if w.reach < w.size {
		earliest = min(earliest, w.tick+1+int64(w.reach))
		w.reach *= 2
	}
	return earliest
}

// Next implements engine.Wheel.
func (w *wheel) Next() int64 { return w.next }

// All implements engine.Wheel.
func (w *wheel) All(yield func(*engine.Timeout) bool) { w.buckets.All(yield) }
