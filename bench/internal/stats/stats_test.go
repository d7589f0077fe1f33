package stats_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/bench/internal/stats"
)

func TestSummaryOfOddAndEvenRounds(t *testing.T) {
	values := []float64{3, 1, 2}
	assert.Equal(t, stats.Summary{Median: 2, Min: 1, Max: 3, Rounds: 3}, stats.Of(values))
	assert.Equal(t, []float64{3, 1, 2}, values, "left alone")
	assert.Equal(t, stats.Summary{Median: 2.5, Min: 1, Max: 4, Rounds: 4}, stats.Of([]float64{4, 1, 2, 3}))
	assert.False(t, stats.Of(nil).Known())
}

func TestRatioOfWhatIsNotKnownSaysNothing(t *testing.T) {
	two, four := stats.Of([]float64{2}), stats.Of([]float64{4})
	assert.Equal(t, 0.5, stats.Ratio(two, four))
	assert.NotEqual(t, stats.Ratio(two, stats.Summary{}), stats.Ratio(two, stats.Summary{}), "NaN")
	assert.NotEqual(t, stats.Ratio(two, stats.Of([]float64{0})), 0.0)
}

func TestApartOnlyIfNoRoundsOverlap(t *testing.T) {
	low, high := stats.Of([]float64{1, 2}), stats.Of([]float64{3, 4})
	assert.True(t, stats.Apart(low, high))
	assert.True(t, stats.Apart(high, low))
	assert.False(t, stats.Apart(low, stats.Of([]float64{2, 5})))
}
