package hashedwheel

import (
	"math"
	"math/bits"

	"github.com/hashedwheel/hwt/internal/engine/store"
)

// empty is the next tick of a bucket, or a wheel, that holds nothing.
const empty = math.MaxInt64

// maxAhead is the farthest rotation a uint16 in nexts can name, rounded down to a
// multiple of 256 so that 8-bit tags still match when the worker wakes there.
const maxAhead = math.MaxUint16 &^ math.MaxUint8

// minReach is the number of buckets that the search examines after timeouts expired.
const minReach = 1024

// wheel is an array of buckets. The timeouts of one bucket expire at ticks that are a
// multiple of the wheel's length apart, as their remaining rounds tell. They are not
// counted down: an entry's tag is the number of the rotation in which it expires,
// modulo 256, so that a rotation costs nothing. Its remaining rounds are the distance
// from the current rotation. An entry beyond the 255 rounds that a tag counts may be
// taken for due a multiple of 256 rotations too early. Then the core stores it again.
//
// next and nexts let the worker sleep over ticks at which no entry has zero remaining
// rounds, even where buckets are full. Entries more than 65,280 rotations away are
// re-examined once every 65,280 rotations, so the lowest 16 bits of the rotation are
// enough.
type wheel struct {
	buckets store.Buckets
	nexts   []uint16 // for each bucket that is not empty, a rotation, modulo 65,536; no entry of the bucket expires before that rotation
	next    int64    // a tick before which nothing expires
	stale   bool     // the timeout behind next was removed
	tick    int64    // the current one
	reach   int      // how many buckets the next search looks at
	size    int      // a power of two
	shift   uint     // its binary logarithm
}

func newWheel(size int) *wheel {
	return &wheel{size: size, shift: uint(bits.TrailingZeros(uint(size))), next: empty, reach: minReach}
}

// build makes the buckets: late, so that a wheel never used costs next to
// nothing.
func (w *wheel) build() {
	w.buckets.Grow(w.size)
	w.nexts = make([]uint16, w.size)
}

func (w *wheel) bucketOf(tick int64) uint32 { return uint32(tick) & uint32(w.size-1) }
func (w *wheel) rotation(tick int64) int64  { return tick >> w.shift }

// turnOf returns the first tick of bucket i that is not before the current one.
func (w *wheel) turnOf(i uint32) int64 {
	return w.tick + int64((i-uint32(w.tick))&uint32(w.size-1))
}

// nextOf returns the tick that nexts has for bucket i, given a turn of the bucket that is not
// after the tick. The bucket must not be empty.
func (w *wheel) nextOf(i uint32, turn int64) int64 {
	return turn + int64(w.nexts[i]-uint16(w.rotation(turn)))<<w.shift
}

// MoveTo implements engine.Wheel.
func (w *wheel) MoveTo(tick int64) { w.tick = tick }

// Add implements engine.Wheel.
func (w *wheel) Add(t *store.Node, tick int64) {
	if w.nexts == nil {
		w.build()
	}
	i := w.bucketOf(tick)
	turn := w.turnOf(i)
	next := min(tick, turn+maxAhead<<w.shift)
	if w.buckets.IsEmpty(i) || next < w.nextOf(i, turn) {
		w.nexts[i] = uint16(w.rotation(next))
	}
	w.buckets.Add(i, t, uint8(w.rotation(tick)))
	w.next = min(w.next, next)
}

// Remove implements engine.Wheel. As long as there is something left in a bucket,
// its entry in nexts stays true, if not exact: the worker may wake once for nothing.
func (w *wheel) Remove(t *store.Node) {
	i := w.buckets.Remove(t)
	if w.buckets.IsEmpty(i) {
		w.stale = w.stale || w.nextOf(i, w.turnOf(i)) == w.next || w.buckets.Count() == 0
	}
}

// Bucket implements engine.Wheel.
func (w *wheel) Bucket(tick int64) (uint32, bool) { return w.bucketOf(tick), w.nexts != nil }

// Expire implements engine.Wheel.
func (w *wheel) Expire(due []*store.Node) []*store.Node {
	if w.next > w.tick {
		return due
	}
	i, waiting := w.bucketOf(w.tick), len(due)
	if rotation := w.rotation(w.tick); !w.buckets.IsEmpty(i) && w.nexts[i] == uint16(rotation) {
		var rounds uint8
		due, rounds = w.buckets.TakeTagged(i, uint8(rotation), due)
		w.nexts[i] += uint16(rounds)
	}
	if len(due) > waiting {
		w.reach = minReach
	}
	w.stale, w.next = false, w.search(w.tick+1)
	return due
}

// search finds the earliest of nexts. No tick in nexts is before from. It looks at the buckets
// in the order of their turns, and stops at the first one with an entry for that turn.
//
// It does not examine far buckets: the work would be wasted if a nearer timeout is added later,
// and would cost the steps of a rotation at every tick. It gives up after reach steps and lets
// the worker return that many ticks later. The reach doubles each time, until timeouts expire
// or are removed. A wait takes no more steps than ticks, and a number of wake-ups that is
// logarithmic in the length of the wait.
func (w *wheel) search(from int64) int64 {
	if w.buckets.Count() == 0 {
		return empty
	}
	earliest := int64(empty)
	for ahead := range int64(min(w.reach, w.size)) {
		tick := from + ahead
		i := w.bucketOf(tick)
		if w.buckets.IsEmpty(i) {
			continue
		}
		next := w.nextOf(i, tick)
		if next == tick {
			return tick
		}
		earliest = min(earliest, next)
	}
	if w.reach < w.size {
		earliest = min(earliest, from+int64(w.reach))
		w.reach *= 2
	}
	return earliest
}

// Next implements engine.Wheel. A search continues at the last result, with the shortest reach:
// the ticks before the last result are known to be empty. If each search began at the current tick,
// many calls of Cancel in a row would each search a whole rotation.
func (w *wheel) Next() int64 {
	if w.stale {
		w.stale, w.reach = false, minReach
		w.next = w.search(max(w.next, w.tick+1))
	}
	return w.next
}

// Peek implements engine.Wheel.
func (w *wheel) Peek(tick int64, limit int, nodes []*store.Node) ([]*store.Node, bool) {
	i := w.bucketOf(tick)
	if w.buckets.IsEmpty(i) || w.nexts[i] != uint16(w.rotation(tick)) {
		return nodes, true
	}
	return w.buckets.Peek(i, uint8(w.rotation(tick)), limit, nodes)
}

// Held implements engine.Wheel.
func (w *wheel) Held() *store.Buckets { return &w.buckets }
