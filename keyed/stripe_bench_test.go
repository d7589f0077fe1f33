package keyed

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// BenchmarkLongestStep reports the longest time for which a stripe's lock is held to add or
// remove one of 160,000 pairs, in microseconds. Two processors have 32 stripes, so this is
// a table of five million pairs. Every round does the same, and the shortest duration of
// each call counts, so that a preemption of the process does not.
func BenchmarkLongestStep(b *testing.B) {
	const n = 160_000
	pairs := make([]pair[int, int], n)
	hashes := make([]uint32, n)
	random := rand.New(rand.NewPCG(1, 2))
	for key := range n {
		pairs[key].key, hashes[key] = key, random.Uint32()|1
	}
	adds, removes := slices.Repeat([]time.Duration{math.MaxInt64}, n), slices.Repeat([]time.Duration{math.MaxInt64}, n)
	for b.Loop() {
		s := &newStripes[int, int]()[0]
		measure(adds, func(key int) { s.add(hashes[key], &pairs[key]) })
		measure(removes, func(key int) {
			_, at := s.find(hashes[key], key)
			s.remove(at)
		})
	}
	b.ReportMetric(float64(slices.Max(adds).Nanoseconds())/1e3, "µs/longest-add")
	b.ReportMetric(float64(slices.Max(removes).Nanoseconds())/1e3, "µs/longest-remove")
}

// measure lowers each duration to that of f for its index.
func measure(durations []time.Duration, f func(key int)) {
	for key := range durations {
		begin := time.Now()
		f(key)
		durations[key] = min(durations[key], time.Since(begin))
	}
}
