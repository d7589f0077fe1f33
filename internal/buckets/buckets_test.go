package buckets

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBoundsBelongToTheirBuckets(t *testing.T) {
	for i := range Count {
		require.Equal(t, i, Of(Bound(i)))
		if i < Count-1 {
			require.Equal(t, i+1, Of(Bound(i)+1))
		}
	}
	assert.Equal(t, int64(1024), Bound(0))
	assert.Equal(t, int64(1536), Bound(1))
	assert.Equal(t, int64(2048), Bound(2))
	assert.Equal(t, int64(1<<41), Bound(Count-2))
	assert.Equal(t, int64(math.MaxInt64), Bound(Count-1))
}

func TestEveryDurationHasABucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Int64().Draw(t, "d")
		i := Of(d)
		require.LessOrEqual(t, d, Bound(i))
		if i > 0 {
			require.Greater(t, d, Bound(i-1))
		}
		if i > 0 && i < Count-1 {
			require.LessOrEqual(t, 2*Bound(i), 3*Bound(i-1), "no bucket is wider than half of its lower end")
		}
	})
	assert.Zero(t, Of(math.MinInt64))
	assert.Equal(t, Count-1, Of(int64(time.Hour)))
}
