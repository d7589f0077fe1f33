package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
)

func TestNumbersHaveThreeDigitsAndTwoBelowOne(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.0012: "0.0012", 0.0123: "0.012", 0.123: "0.12", 0.998: "1.00", 1.234: "1.23", 9.996: "10.0", 12.34: "12.3",
		99.96: "100", 123.4: "123", 999.6: "1,000", 1234567: "1,234,567", -0.45: "-0.45", -1234: "-1,234", 0.00001: "~0", -0.00001: "~0",
	} {
		assert.Equal(t, want, number(v), v)
	}
}

func TestCountsHaveNoFraction(t *testing.T) {
	assert.Equal(t, "3", metric{name: spec.Early}.write(3))
	assert.Equal(t, "3.00", metric{name: spec.LateMax}.write(3))
}

func TestOneRoundHasNoRangeAndNegativeRangesAreReadable(t *testing.T) {
	assert.Equal(t, "–", figure(stats.Summary{}, number, false))
	assert.Equal(t, "2.00", figure(stats.Of([]float64{2}), number, false))
	assert.Equal(t, "**2.00**", figure(stats.Of([]float64{2}), number, true))
	assert.Equal(t, "-0.45 (-0.50 to -0.40)", figure(stats.Of([]float64{-0.4, -0.5}), number, false))
}
