package engine

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStripeCountIsAPowerOfTwo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for procs, want := range map[int]int{1: 1, 2: 8, 3: 16, 4: 16, 5: 32, 16: 64, 17: 128, 64: 256, 300: maxStripes} {
		runtime.GOMAXPROCS(procs)
		in := new(intake)
		in.init()
		require.Len(t, in.stripes, want, "%d processors", procs)
		for range 1000 { // never out of range
			require.NotNil(t, in.of(new(Timeout)))
		}
	}
}

func TestTimeoutsSpreadOverTheStripes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	in := new(intake)
	in.init()
	const n = 200_000
	used := make(map[*stripe]int)
	keep := make([]*Timeout, n)
	for i := range keep {
		keep[i] = new(Timeout)
		used[in.of(keep[i])]++
	}
	require.Len(t, used, len(in.stripes), "every stripe is used")
	for _, count := range used {
		assert.Less(t, count, 2*n/len(in.stripes), "no stripe has twice its share")
	}
	for _, timeout := range keep[:100] {
		assert.Same(t, in.of(timeout), in.of(timeout), "always the same one")
	}
}

func TestConsecutiveTimeoutsShareAStripe(t *testing.T) {
	const n = 10_000
	least := n // of three tries, because a fragmented heap has addresses far apart
	for range 3 {
		least = min(least, changesOfStripe(n))
	}
	assert.Less(t, least, n/10, "a processor stays on one stripe for a while")
}

// changesOfStripe creates n timeouts in a row, and returns the number of those on another
// stripe than the previous one.
func changesOfStripe(n int) (changes int) {
	in := new(intake)
	in.init()
	keep := []*Timeout{new(Timeout)}
	for i := range n {
		keep = append(keep, new(Timeout))
		if in.of(keep[i+1]) != in.of(keep[i]) {
			changes++
		}
	}
	runtime.KeepAlive(keep)
	return changes
}

func TestIntakeIsEmptyOnlyIfEveryQueueIs(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	in := new(intake)
	in.init()
	assert.True(t, in.empty())
	for i := range in.stripes {
		s := &in.stripes[i]
		timeout := new(Timeout)
		require.True(t, s.added.Push(timeout))
		assert.False(t, in.empty())
		s.added.Pop()
		require.True(t, s.changed.Push(timeout))
		assert.False(t, in.empty())
		s.changed.Pop()
		assert.True(t, in.empty())
	}
}

func TestClosedIntakeRejectsAndStillDrains(t *testing.T) {
	in := new(intake)
	in.init()
	early := new(Timeout)
	require.True(t, in.of(early).added.Push(early))
	in.close()
	in.close()
	for i := range in.stripes {
		assert.False(t, in.stripes[i].added.Push(new(Timeout)))
		assert.False(t, in.stripes[i].changed.Push(new(Timeout)))
	}
	assert.False(t, in.empty())
	assert.Same(t, early, in.of(early).added.Pop())
	assert.True(t, in.empty())
}
