package stats_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/bench/internal/stats"
)

func TestFewRoundsHaveTheirRange(t *testing.T) {
	values := []float64{3, 1, 2}
	assert.Equal(t, stats.Summary{Median: 2, Low: 1, High: 3, Rounds: 3}, stats.Of(values))
	assert.Equal(t, []float64{3, 1, 2}, values, "unchanged")
	assert.Equal(t, stats.Summary{Median: 7, Low: 7, High: 7, Rounds: 1}, stats.Of([]float64{7}))
	assert.False(t, stats.Of(nil).Known())
}

func TestManyRoundsHaveAnIntervalWithinTheirRange(t *testing.T) {
	s := stats.Of([]float64{5, 1, 2, 3, 4, 6, 7, 8, 9, 100})
	assert.Equal(t, 5.5, s.Median)
	assert.Greater(t, s.Low, 1.0)
	assert.Less(t, s.High, 100.0)
}

func TestRatioHasARange(t *testing.T) {
	four, two := stats.Of([]float64{4, 5, 6}), stats.Of([]float64{2, 2, 4})
	assert.Equal(t, stats.Summary{Median: 2.5, Low: 1, High: 3, Rounds: 3}, four.Over(two))
	assert.False(t, four.Over(stats.Summary{}).Known())
	assert.False(t, four.Over(stats.Of([]float64{0, 1, 2})).Known())
}

func TestIntervalsThatOverlapAreNotApart(t *testing.T) {
	low, high := stats.Of([]float64{1, 2}), stats.Of([]float64{3, 4})
	assert.True(t, stats.Apart(low, high))
	assert.True(t, stats.Apart(high, low))
	assert.False(t, stats.Apart(low, stats.Of([]float64{2, 5})))
}
