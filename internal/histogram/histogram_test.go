package histogram

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBoundsBelongToTheBucketBelow(t *testing.T) {
	for i := range Buckets {
		require.Equal(t, i, BucketOf(Bound(i)))
		if i < Buckets-1 {
			require.Equal(t, i+1, BucketOf(Bound(i)+1))
		}
	}
	assert.Equal(t, int64(1024), Bound(0))
	assert.Equal(t, int64(1536), Bound(1))
	assert.Equal(t, int64(2048), Bound(2))
	assert.Equal(t, int64(1<<41), Bound(Buckets-2))
	assert.Equal(t, int64(math.MaxInt64), Bound(Buckets-1))
}

func TestEveryDurationHasABucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Int64().Draw(t, "d")
		i := BucketOf(d)
		require.LessOrEqual(t, d, Bound(i))
		if i > 0 {
			require.Greater(t, d, Bound(i-1))
		}
		if i > 0 && i < Buckets-1 {
			require.LessOrEqual(t, 2*Bound(i), 3*Bound(i-1), "no bucket is wider than half of its lower end")
		}
	})
	assert.Zero(t, BucketOf(math.MinInt64))
	assert.Equal(t, Buckets-1, BucketOf(int64(time.Hour)))
}
