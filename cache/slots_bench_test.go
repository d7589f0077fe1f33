package cache

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// BenchmarkLongestStep reports the longest time for which a stripe's lock is held to take or
// release one of two million slots, in microseconds. The slots are released in random order.
// Every round does the same, and the shortest duration of each call counts, so that a
// preemption of the process does not.
func BenchmarkLongestStep(b *testing.B) {
	const n = 2_000_000
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	takes, releases := slices.Repeat([]time.Duration{math.MaxInt64}, n), slices.Repeat([]time.Duration{math.MaxInt64}, n)
	for b.Loop() {
		s := slots[int]{limited: true}
		measure(takes, func(key int) { s.alloc(key) })
		measure(releases, func(key int) { s.release(uint32(order[key] + 1)) })
	}
	b.ReportMetric(float64(slices.Max(takes).Nanoseconds())/1e3, "µs/longest-take")
	b.ReportMetric(float64(slices.Max(releases).Nanoseconds())/1e3, "µs/longest-release")
}

// measure lowers each duration to the duration of f for its index.
func measure(durations []time.Duration, f func(key int)) {
	for key := range durations {
		begin := time.Now()
		f(key)
		durations[key] = min(durations[key], time.Since(begin))
	}
}
