// Package stats summarizes what rounds measured.
package stats

import (
	"math"
	"slices"
)

// Summary is a figure of several rounds.
type Summary struct {
	Median, Min, Max float64
	Rounds           int // 0: there is no figure
}

// Of summarizes values, which it does not change.
func Of(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	v := slices.Sorted(slices.Values(values))
	return Summary{Median: middle(v), Min: v[0], Max: v[len(v)-1], Rounds: len(v)}
}

// middle returns the median of sorted values.
func middle(v []float64) float64 {
	half := len(v) / 2
	if len(v)%2 == 1 {
		return v[half]
	}
	return (v[half-1] + v[half]) / 2
}

// Known reports whether there is a figure.
func (s Summary) Known() bool { return s.Rounds > 0 }

// Ratio returns a's median over b's, or NaN if a figure is missing or b's is zero.
func Ratio(a, b Summary) float64 {
	if !a.Known() || !b.Known() || b.Median <= 0 {
		return math.NaN()
	}
	return a.Median / b.Median
}

// Apart reports whether the rounds of a and b do not overlap. Then the order of their
// medians is not the noise between rounds.
func Apart(a, b Summary) bool { return a.Max < b.Min || b.Max < a.Min }
