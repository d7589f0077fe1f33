// Package buckets is the layout of hwt.Histogram: two buckets for each doubling,
// from a microsecond to half an hour.
package buckets

import (
	"math"
	"math/bits"
)

const (
	// Count is how many buckets there are.
	Count = 64

	lowest = 10 // bucket 0 ends at 2^lowest nanoseconds
)

// Of returns the bucket of a duration in nanoseconds.
func Of(d int64) int {
	if d <= 1<<lowest {
		return 0
	}
	x := uint64(d - 1) // so that a bound belongs to the bucket below
	octave := bits.Len64(x) - 1
	half := int(x>>(octave-1)) & 1
	return min(1+2*(octave-lowest)+half, Count-1)
}

// Bound returns the largest duration in bucket i, in nanoseconds.
func Bound(i int) int64 {
	switch {
	case i <= 0:
		return 1 << lowest
	case i >= Count-1:
		return math.MaxInt64
	}
	octave, half := (i-1)/2, int64(i-1)%2
	return (3 + half) << (lowest - 1 + octave)
}
