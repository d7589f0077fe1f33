// Package stats summarizes the values of several rounds.
package stats

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// confidence is the level of the intervals. Six rounds or more can reach it; fewer give the
// range of all values.
const confidence = 0.95

// Summary is the median of several rounds with its confidence interval.
type Summary struct {
	Median, Low, High float64
	Rounds            int // 0: no value
}

// Of summarizes values without changing them. It assumes no distribution.
func Of(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), confidence)
	low, high := s.Lo, s.Hi
	if math.IsInf(low, 0) || math.IsInf(high, 0) { // too few rounds
		low, high = slices.Min(values), slices.Max(values)
	}
	return Summary{Median: s.Center, Low: low, High: high, Rounds: len(values)}
}

// Known reports whether there is a value.
func (s Summary) Known() bool { return s.Rounds > 0 }

// Over returns the ratio of s to t: that of the medians, with the range between the ends of
// the intervals. It has no rounds if either is unknown or t may be zero.
func (s Summary) Over(t Summary) Summary {
	if !s.Known() || !t.Known() || t.Low <= 0 {
		return Summary{}
	}
	return Summary{Median: s.Median / t.Median, Low: s.Low / t.High, High: s.High / t.Low, Rounds: min(s.Rounds, t.Rounds)}
}

// Apart reports whether the intervals of a and b do not overlap.
func Apart(a, b Summary) bool { return a.High < b.Low || b.High < a.Low }
