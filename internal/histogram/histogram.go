// Package histogram is the layout of hwt.Histogram: two buckets per doubling, from
// a microsecond to half an hour. The root package and the engines share it.
package histogram

import (
	"math"
	"math/bits"
)

const (
	// Buckets is the number of buckets.
	Buckets = 64

	lowest = 10 // bucket 0 ends at 2^lowest nanoseconds
)

// BucketOf returns the bucket of a duration in nanoseconds.
func BucketOf(d int64) int {
	if d <= 1<<lowest {
		return 0
	}
	x := uint64(d - 1) // A bound belongs to the bucket below it.
	octave := bits.Len64(x) - 1
	half := int(x>>(octave-1)) & 1
	return min(1+2*(octave-lowest)+half, Buckets-1)
}

// Bound returns the largest duration in bucket i, in nanoseconds.
func Bound(i int) int64 {
	switch {
	case i <= 0:
		return 1 << lowest
	case i >= Buckets-1:
		return math.MaxInt64
	}
	octave, half := (i-1)/2, int64(i-1)%2
	return (3 + half) << (lowest - 1 + octave)
}
