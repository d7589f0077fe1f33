package inspect

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSegmentOfABucketInALargeRing(t *testing.T) {
	const buckets = 1 << 30
	for bucket, want := range map[int64]int64{0: 0, buckets/512 - 1: 0, buckets / 512: 1, buckets / 2: 256, buckets - 1: 511} {
		assert.Equal(t, want, segmentOf(bucket, maxSegments, buckets), bucket)
	}
}
