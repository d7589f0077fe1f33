package cacheline

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestStripesIsAPowerOfTwo(t *testing.T) {
	for procs, want := range map[int]int{1: 4, 2: 8, 3: 16, 4: 16, 5: 32, 6: 32, 64: 128, 1024: 128} {
		assert.Equal(t, want, stripes(procs, 4, 128), "%d processors", procs)
	}
	assert.Equal(t, 1, stripes(1, 1, 64))
	assert.Equal(t, stripes(runtime.GOMAXPROCS(0), 8, 512), Stripes(8, 512))
}

func TestStripesShareNeighbouringKeysEvenly(t *testing.T) {
	for _, n := range []int{1, 2, 8, 128} {
		shift, hits := Shift(n), make([]int, n)
		const each = 1000
		for key := range n * each {
			hits[StripeOf(uint64(key), shift)]++
		}
		for _, hit := range hits {
			assert.InDelta(t, each, hit, each/20, "%d stripes", n)
		}
	}
}
