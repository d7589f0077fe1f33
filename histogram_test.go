package hwt_test

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hashedwheel/hwt"
)

func histogramOf(durations ...time.Duration) (h hwt.Histogram) {
	for _, d := range durations {
		i := 0
		for h.Bound(i) < d {
			i++
		}
		h.Counts[i]++
		h.Sum += d
	}
	return h
}

func TestQuantilesAreBoundsOfTheirBuckets(t *testing.T) {
	var empty hwt.Histogram
	assert.Zero(t, empty.Quantile(0.5))
	assert.Zero(t, empty.Mean())

	h := histogramOf(time.Microsecond, time.Millisecond, time.Millisecond, time.Second)
	assert.EqualValues(t, 4, h.Count())
	assert.Equal(t, h.Sum/4, h.Mean())
	assert.EqualValues(t, 1024, h.Quantile(0.25))
	assert.EqualValues(t, 1<<20, h.Quantile(0.26))
	assert.EqualValues(t, 1<<20, h.Quantile(0.75))
	assert.EqualValues(t, 1<<30, h.Quantile(1))
	assert.Equal(t, h.Quantile(0), h.Quantile(-1))
	assert.Equal(t, h.Quantile(1), h.Quantile(2))
	assert.Equal(t, h.Quantile(0), h.Quantile(math.Inf(-1)))

	long := histogramOf(time.Hour)
	assert.Equal(t, time.Duration(1<<41), long.Quantile(0.5), "the last finite bound")
	assert.Equal(t, time.Duration(math.MaxInt64), long.Bound(len(long.Counts)-1))
}

func TestQuantilesAreAtMostHalfTooLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(1025, 1<<41).Draw(t, "d"))
		}), 1, 50).Draw(t, "durations")
		h := histogramOf(durations...)
		slices.SortFunc(durations, cmp.Compare)
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		exact := durations[max(int(math.Ceil(q*float64(len(durations)))), 1)-1]
		require.GreaterOrEqual(t, h.Quantile(q), exact)
		require.LessOrEqual(t, h.Quantile(q), exact+exact/2)
	})
}

func TestSubIsTheDifference(t *testing.T) {
	before := histogramOf(time.Second, time.Minute)
	both := histogramOf(time.Second, time.Minute, time.Hour, time.Second)
	assert.Equal(t, histogramOf(time.Second, time.Hour), both.Sub(before))
}
