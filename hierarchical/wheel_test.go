package hierarchical

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/engine/store"
)

// driver turns a wheel as the engine does, and knows each timeout's tick.
type driver struct {
	*wheel
	levelCount atomic.Int64
	due        map[*store.Node]int64
	reinserted int // number of timeouts that the last tick reinserted
}

func drive(size int) *driver {
	d := &driver{due: make(map[*store.Node]int64)}
	d.wheel = newWheel(size, &d.levelCount)
	return d
}

func (d *driver) add(tick int64) *store.Node {
	t := new(store.Node)
	d.due[t] = tick
	d.Add(t, tick)
	return t
}

func (d *driver) remove(t *store.Node) {
	d.Remove(t)
	delete(d.due, t)
}

// step moves the wheel to tick, which must not be after Next, and returns the number of
// expired timeouts. It asserts that each was due at tick.
func (d *driver) step(tb require.TestingT, tick int64) (expired int) {
	d.MoveTo(tick)
	d.reinserted = 0
	for _, t := range d.Expire(nil) {
		due := d.due[t]
		if due > tick {
			d.reinserted++
			d.Add(t, due)
			continue
		}
		require.Equal(tb, tick, due, "expired late")
		expired++
		delete(d.due, t)
	}
	return expired
}

// peek asserts that Peek of the next tick finds all that Expire would take, if it finds few.
func (d *driver) peek(tb require.TestingT) (found int, ok bool) {
	next := d.Next()
	nodes, ok := d.Peek(next, math.MaxInt32, nil)
	for t, due := range d.due {
		require.True(tb, !ok || due != next || slices.Contains(nodes, t), "due at %d", next)
	}
	return len(nodes), ok
}

// advance moves the wheel to tick, and expires each bucket on the way.
func (d *driver) advance(tb require.TestingT, tick int64) (steps int) {
	for next := d.Next(); next <= tick; next = d.Next() {
		require.GreaterOrEqual(tb, next, d.tick)
		d.step(tb, next)
		steps++
	}
	for _, due := range d.due {
		require.Greater(tb, due, tick, "not expired")
	}
	d.MoveTo(tick)
	return steps
}

func power(size, k int64) int64 {
	p := int64(1)
	for range k {
		p *= size
	}
	return p
}

// TestTimeoutIsOnTheLowestLevelThatReachesIt looks on both sides of each
// level's edge.
func TestTimeoutIsOnTheLowestLevelThatReachesIt(t *testing.T) {
	for _, size := range []int64{2, 3, 64, 1 << 14} {
		for k := int64(1); k <= 4 && power(size, k) < math.MaxInt64/1_000_000; k++ {
			for _, c := range []struct{ tick, levels int64 }{
				{power(size, k) - 1, k}, {power(size, k), k + 1}, {power(size, k) + 1, k + 1},
			} {
				d := drive(int(size))
				d.add(c.tick)
				assert.Equal(t, c.levels, d.levelCount.Load(), "size %d, tick %d", size, c.tick)
				steps := d.advance(t, c.tick)
				assert.LessOrEqual(t, int64(steps), c.levels, "one bucket a level, at most")
				assert.Empty(t, d.due)
			}
		}
	}
}

// The tick one rotation ahead has the same bucket as the current tick. If the wheel stored
// a timeout for it there, timeouts for the current tick would wait for a rotation.
func TestCurrentTickDoesNotWaitForARotation(t *testing.T) {
	for _, size := range []int64{2, 3, 64} {
		for k := range int64(3) {
			d := drive(int(size))
			d.remove(d.add(power(size, k+1))) // creates the levels
			d.MoveTo(d.tick + 1)
			limit := d.levels[k].limit
			d.add(limit)
			d.add(d.tick)
			require.Equal(t, d.tick, d.Next(), "size %d, level %d", size, k)
			assert.Equal(t, 1, d.step(t, d.tick))
			d.advance(t, limit)
			assert.Empty(t, d.due)
		}
	}
}

// TestReachMovesWithTime adds timeouts at 140 distances from each of 130 ticks.
func TestReachMovesWithTime(t *testing.T) {
	for _, size := range []int{2, 3, 5} {
		for start := range int64(130) {
			d := drive(size)
			d.MoveTo(start)
			for distance := range int64(140) {
				d.add(start + distance)
			}
			require.Equal(t, 1, d.step(t, start))
			d.advance(t, start+140)
			require.Empty(t, d.due, "size %d from %d", size, start)
		}
	}
}

// A deadline that overflows has the last tick.
func TestLastTickIsStored(t *testing.T) {
	const last = (1<<61-2)/1_000_000 + 1
	for size, levels := range map[int]int64{2: 42, 3: 26, 64: 7, 1 << 14: 3} {
		d := drive(size)
		d.add(last)
		d.add(last - 1)
		d.add(1)
		assert.Equal(t, levels, d.levelCount.Load(), "levels of %d", size)
		d.advance(t, last-2)
		assert.Len(t, d.due, 2)
		d.advance(t, last)
		assert.Empty(t, d.due)
	}
}

func TestEmptyBucketsCostNothing(t *testing.T) {
	d := drive(64)
	d.add(1_000_000_000)
	assert.LessOrEqual(t, d.advance(t, 1_000_000_000), 5, "one step per level")
	assert.Equal(t, int64(math.MaxInt64), d.Next())
}

func TestExpireCollectsNoTimeoutBeforeItsTick(t *testing.T) {
	d := drive(4)
	for tick := range int64(4) {
		d.add(tick)
	}
	d.add(4) // on the next level
	for tick := range int64(5) {
		assert.Equal(t, 1, d.step(t, tick))
		assert.Zero(t, d.reinserted)
	}
}

func TestRemovedTimeoutWakesNoWorker(t *testing.T) {
	d := drive(64)
	near, far := d.add(100), d.add(100_000)
	next := d.Next()
	d.remove(near)
	assert.Greater(t, d.Next(), next, "the bucket it was in is skipped")
	d.remove(far)
	assert.Equal(t, int64(math.MaxInt64), d.Next())
	assert.Zero(t, d.queue.Len())
	d.add(100)
	assert.Equal(t, next, d.Next(), "and filled again")
}

func TestBucketIsUsedAgainForItsNextSpan(t *testing.T) {
	d := drive(4)
	emptied := d.add(2)
	d.add(9)
	d.remove(emptied)
	d.advance(t, 5)
	d.add(6) // the emptied bucket
	d.advance(t, 20)
	assert.Empty(t, d.due)
}

// TestReinsertionsPerTickAreBounded adds many timeouts with deadlines close together, at
// several distances.
func TestReinsertionsPerTickAreBounded(t *testing.T) {
	const n = 50_000
	for _, size := range []int64{2, 64, 1000, 1 << 14} {
		for _, begin := range []int64{size * 5, size*size*2 + 17, 123_456_789} {
			t.Run(fmt.Sprintf("size=%d/begin=%d", size, begin), func(t *testing.T) {
				d := drive(int(size))
				for i := range int64(n) {
					d.add(begin + i%1000)
				}
				expired, most := 0, 0
				for next := d.Next(); next < math.MaxInt64; next = d.Next() {
					expired += d.step(t, next)
					most = max(most, d.reinserted)
				}
				assert.Equal(t, n, expired)
				kinds := 4 * d.levelCount.Load() // a bucket divides at most four times per level
				assert.LessOrEqual(t, int64(most), kinds*maxBucketLen)
			})
		}
	}
}

func TestSplitsAreUsedAgain(t *testing.T) {
	d := drive(64)
	var most int
	for round := range int64(6) {
		begin := d.tick + 5000
		for i := range int64(50_000) {
			d.add(begin + i%100)
		}
		d.advance(t, begin+100)
		require.Empty(t, d.due)
		if round == 1 {
			most = len(d.counts)
		}
	}
	assert.LessOrEqual(t, len(d.counts), 2*most, "buckets created")
	assert.NotEmpty(t, d.freeSubWheels)
	for _, s := range d.freeSubWheels {
		assert.True(t, s.detached && s.queued == 0)
	}
}

// A bucket and its first part are due at the same tick, in any order.
func TestSplitInUseIsNotUsedAgain(t *testing.T) {
	d := drive(64)
	s := d.newSubWheel()
	d.retire(s)
	assert.Empty(t, d.freeSubWheels, "its bucket may still fill it")
	s.detached, s.queued = true, 1
	d.retire(s)
	assert.Empty(t, d.freeSubWheels, "one of its buckets is still queued")
	s.queued = 0
	d.retire(s)
	assert.Equal(t, []*subWheel{s}, d.freeSubWheels)
}

func TestEmptiedBucketHasACountOfZero(t *testing.T) {
	d := drive(8)
	for range 3 {
		tick := d.tick + 8 // the same bucket each time
		d.add(tick)
		d.remove(d.add(tick))
		assert.Equal(t, 1, d.step(t, tick))
		d.remove(d.add(tick + 8))
		assert.Equal(t, int64(math.MaxInt64), d.Next(), "the wheel is empty")
	}
	for _, n := range d.counts {
		assert.Zero(t, n)
	}
}

func TestAllYieldsTheAddedTimeouts(t *testing.T) {
	d := drive(3)
	d.maxBucketLen = 2
	for i := range int64(500) {
		d.add(1 + i*i)
	}
	d.advance(t, 1000)
	seen := make(map[*store.Node]bool)
	d.Held().All(func(timeout *store.Node) bool {
		assert.False(t, seen[timeout], "yielded twice")
		assert.Contains(t, d.due, timeout)
		seen[timeout] = true
		return true
	})
	assert.Len(t, seen, len(d.due))
}

func TestUnusedWheelIsSmall(t *testing.T) {
	d := drive(1 << 20)
	assert.Equal(t, int64(math.MaxInt64), d.Next())
	d.MoveTo(5)
	assert.Empty(t, d.Expire(nil))
	assert.Empty(t, d.counts, "no buckets yet")
	assert.Equal(t, int64(1), d.levelCount.Load())
}

func TestBucketReturnsTheBucketThatAddUses(t *testing.T) {
	w := newWheel(4, new(atomic.Int64))
	w.maxBucketLen = 2
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		tick := 1 + r.Int64N(600)
		made := len(w.counts)
		i, found := w.Bucket(tick)
		require.Len(t, w.counts, made)
		before := slices.Clone(w.counts)
		w.Add(new(store.Node), tick)
		if found && len(w.counts) == made {
			before[i]++
			require.Equal(t, before, w.counts)
		}
	}
}

// A bucket of an upper level and one of the lowest begin with the same tick.
func TestPeekLooksAtTheBucketsOfAllLevels(t *testing.T) {
	d := drive(4)
	d.add(4) // on the second level
	d.step(t, 1)
	d.add(4)
	found, ok := d.peek(t)
	assert.True(t, ok)
	assert.Equal(t, 2, found)
}

func TestPeekGivesUpWhereBucketsAreFull(t *testing.T) {
	d := drive(4)
	d.maxBucketLen = 2
	for range 8 {
		d.add(4)
	}
	_, ok := d.peek(t)
	assert.False(t, ok)
	for d.Next() < math.MaxInt64 {
		d.step(t, d.Next())
	}
	d.add(d.tick + 1)
	found, ok := d.peek(t)
	assert.True(t, ok, "the full bucket is empty again")
	assert.Equal(t, 1, found)
}
