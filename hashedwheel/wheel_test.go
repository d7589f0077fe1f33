package hashedwheel

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hashedwheel/hwt/internal/engine/store"
)

// wheelModel drives a wheel as the engine does, next to a map of the stored timeouts and
// their ticks.
type wheelModel struct {
	w     *wheel
	filed map[*store.Node]int64
	order []*store.Node // in a repeatable order, to draw from
}

func newWheelModel(size int) *wheelModel {
	return &wheelModel{w: newWheel(size), filed: map[*store.Node]int64{}}
}

func (m *wheelModel) file(timeout *store.Node, tick int64) {
	m.w.Add(timeout, tick)
	m.filed[timeout] = tick
}

// distance draws a timeout's distance in ticks: within the rotation, some rotations away,
// around the range of a tag, or far beyond.
func (m *wheelModel) distance(t *rapid.T) int64 {
	size := int64(m.w.size)
	rotations := rapid.SampledFrom([]int64{0, 0, 0, 1, 2, 100, 254, 255, 256, 257, 510, 511, maxAhead, maxAhead + 1, 70_000, 1 << 30}).Draw(t, "rotations")
	if rapid.Bool().Draw(t, "about the reach of a search") {
		return rotations*size + rapid.SampledFrom([]int64{minReach, 2 * minReach}).Draw(t, "reach") +
			rapid.Int64Range(-3, 3).Draw(t, "off")
	}
	return rotations*size + rapid.Int64Range(0, size+3).Draw(t, "ticks")
}

func (m *wheelModel) add(t *rapid.T) {
	for range rapid.IntRange(1, 12).Draw(t, "times") {
		timeout := new(store.Node)
		m.file(timeout, m.w.tick+1+m.distance(t))
		m.order = append(m.order, timeout)
	}
}

func (m *wheelModel) remove(t *rapid.T) {
	m.order = slices.DeleteFunc(m.order, func(timeout *store.Node) bool {
		_, in := m.filed[timeout]
		return !in
	})
	if len(m.order) == 0 {
		t.Skip("empty")
	}
	timeout := rapid.SampledFrom(m.order).Draw(t, "timeout")
	m.w.Remove(timeout)
	delete(m.filed, timeout)
}

// advance turns the wheel by some ticks, or to its next tick, stores timeouts for that
// tick, and collects the due ones.
func (m *wheelModel) advance(t *rapid.T) {
	target := m.w.tick + 1 + m.distance(t)
	if rapid.Bool().Draw(t, "to the next") && m.w.Next() != math.MaxInt64 {
		target = math.MaxInt64
	}
	m.turn(t, min(target, max(m.w.Next(), m.w.tick+1)), rapid.IntRange(0, 3).Draw(t, "at once"))
}

func (m *wheelModel) turn(t require.TestingT, tick int64, atOnce int) {
	m.w.MoveTo(tick)
	for range atOnce {
		m.file(new(store.Node), tick)
	}
	for _, timeout := range m.w.Expire(nil) {
		due, in := m.filed[timeout]
		require.True(t, in, "expired a timeout that is not stored")
		if due == tick {
			delete(m.filed, timeout)
			continue
		}
		require.Greater(t, due, tick, "expired late")
		m.file(timeout, due) // as the engine does with timeouts collected early
	}
}

func (m *wheelModel) check(t *rapid.T) {
	earliest := int64(math.MaxInt64)
	for _, due := range m.filed {
		require.Greater(t, due, m.w.tick, "left behind")
		earliest = min(earliest, due)
	}
	require.LessOrEqual(t, m.w.Next(), earliest)
	if len(m.filed) == 0 {
		require.EqualValues(t, int64(math.MaxInt64), m.w.Next())
	}
	all := map[*store.Node]bool{}
	for timeout := range m.w.buckets.All {
		all[timeout] = true
	}
	require.Len(t, all, len(m.filed))
}

func TestWheelExpiresEachTimeoutAtItsTick(t *testing.T) {
	for _, size := range []int{1, 2, 8, 512, 4096} {
		rapid.Check(t, func(t *rapid.T) {
			m := newWheelModel(size)
			m.turn(t, rapid.SampledFrom([]int64{1, 2, 500, 1 << 31, 1 << 42}).Draw(t, "start"), 0)
			t.Repeat(map[string]func(*rapid.T){"add": m.add, "remove": m.remove, "advance": m.advance, "": m.check})
			for turns := 0; len(m.filed) > 0 && turns < 300; turns++ {
				m.turn(t, max(m.w.Next(), m.w.tick+1), 0)
			}
		})
	}
}

func TestWorkerSleepsOnceForALoneFarTimeout(t *testing.T) {
	for _, size := range []int{1, 2, 8, 512} {
		for _, rotations := range []int64{1, 255, 256, 257, 512, maxAhead} {
			m := newWheelModel(size)
			due := rotations*int64(size) + 1
			m.turn(t, 1, 0)
			m.file(new(store.Node), due)
			assert.Equal(t, due, m.w.Next())
			m.turn(t, due, 0)
			assert.Empty(t, m.filed)
		}
	}
}

// For a farther timeout the worker wakes once every maxAhead rotations, and once more
// because tags are rounded.
func TestTimeoutBeyondTheRangeTakesAFewSleeps(t *testing.T) {
	for _, size := range []int64{1, 2, 8, 512} {
		for _, rotations := range []int64{maxAhead + 1, 3 * maxAhead, 3*maxAhead + 200} {
			m := newWheelModel(int(size))
			m.turn(t, 1, 0)
			m.file(new(store.Node), rotations*size+1)
			goes := int64(0)
			for ; len(m.filed) > 0; goes++ {
				m.turn(t, m.w.Next(), 0)
			}
			assert.Equal(t, rotations*size+1, m.w.tick)
			assert.LessOrEqual(t, goes, rotations/maxAhead+2)
		}
	}
}

// A tag of 256 rounds equals a tag of 0, so the timeout is collected early and stored
// again.
func TestFarTimeoutWithADueTagIsReinserted(t *testing.T) {
	m := newWheelModel(8)
	m.turn(t, 1, 0)
	m.file(new(store.Node), 9)
	m.file(new(store.Node), 9+256*8)
	m.file(new(store.Node), 9+512*8)
	m.turn(t, 9, 0)
	assert.Len(t, m.filed, 2)
	assert.EqualValues(t, 9+256*8, m.w.Next())
	m.turn(t, 9+256*8, 0)
	m.turn(t, 9+512*8, 0)
	assert.Empty(t, m.filed)
}

func TestWaitForAFarBucketTakesFewTurns(t *testing.T) {
	const size = 1 << 20
	m := newWheelModel(size)
	m.turn(t, 5, 1)
	m.file(new(store.Node), size-3)
	m.file(new(store.Node), 7)
	turns := 0
	for ; len(m.filed) > 0; turns++ {
		m.turn(t, max(m.w.Next(), m.w.tick+1), 0)
	}
	assert.EqualValues(t, size-3, m.w.tick)
	assert.LessOrEqual(t, turns, 13, "doubling from a thousand to a million")
}

// Searching a rotation at every tick would take a minute here.
func TestNearTimeoutsCauseNoRepeatedSearches(t *testing.T) {
	m := newWheelModel(1 << 20)
	m.turn(t, 1, 0)
	m.file(new(store.Node), 1<<20)
	for range 50_000 {
		m.file(new(store.Node), m.w.tick+1)
		m.turn(t, m.w.tick+1, 0)
	}
	assert.Len(t, m.filed, 1)
	assert.Less(t, m.w.Next(), int64(1<<20+1))
}

// Searching up to the next timeout for each cancelled one would take minutes here.
func TestCancelledTimeoutsCauseNoRepeatedSearches(t *testing.T) {
	const size, delay = 1 << 20, 500_000
	m := newWheelModel(size)
	m.turn(t, 1, 0)
	m.file(new(store.Node), size-1)
	add := func(tick int64) *store.Node {
		timeout := new(store.Node)
		m.w.Add(timeout, tick)
		return timeout
	}
	for range 50_000 {
		lone := add(delay)
		assert.EqualValues(t, delay, m.w.Next())
		m.w.Remove(lone)
		assert.Greater(t, m.w.Next(), int64(delay))
	}
	earliest := add(delay)
	for i := range int64(50_000) {
		later := add(delay + 1 + i)
		m.w.Remove(earliest)
		assert.Equal(t, delay+1+i, m.w.Next(), "those that are cancelled in turn")
		earliest = later
	}
	m.w.Remove(earliest)
	m.turn(t, m.w.Next(), 0)
	assert.Less(t, m.w.Next(), int64(size))
}

func TestBucketsOfTheLargestWheelAreCounted(t *testing.T) {
	w := newWheel(1 << 30) // its buckets, 6 GB, are allocated by the first timeout
	assert.Nil(t, w.nexts)
	for _, tick := range []int64{0, 1, 1<<30 - 1, 1 << 30, 1<<32 + 5, 1<<62 - 1} {
		assert.EqualValues(t, tick%(1<<30), w.bucketOf(tick))
		assert.EqualValues(t, tick/(1<<30), w.rotation(tick))
	}
	assert.EqualValues(t, int64(math.MaxInt64), w.Next())
	assert.Empty(t, w.Expire(nil), "an unused wheel may be turned")
	for range w.buckets.All {
		assert.Fail(t, "it is empty")
	}
}

func TestBucketTakesSixBytes(t *testing.T) {
	w := newWheel(8)
	w.build()
	assert.Len(t, w.nexts, 8)
	assert.EqualValues(t, 6, unsafe.Sizeof(w.nexts[0])+4, "2 bytes, and the 4 that TestLayoutFillsSizeClassesOf64BitMachines of package store checks")
}
