package hwt

import (
	"math"
	"time"

	"github.com/hashedwheel/hwt/internal/histogram"
)

// HistogramBuckets is how many buckets a [Histogram] has.
const HistogramBuckets = histogram.Buckets

// Histogram counts durations by size. There are two buckets for each doubling:
// bucket 0 counts what is no longer than 1.024 µs (2^10 ns), bucket 1 what is no
// longer than 1.536 µs, bucket 2 2.048 µs, and so on up to 36.7 min (2^41 ns) in
// bucket 62. The last bucket counts the rest. See [Histogram.Bound].
//
// It is a value: copies share nothing.
type Histogram struct {
	Counts [HistogramBuckets]int64
	Sum    time.Duration // of all durations counted
}

// Bound returns the longest duration that bucket i counts. That of the last bucket
// is the longest there is.
func (h Histogram) Bound(i int) time.Duration { return time.Duration(histogram.Bound(i)) }

// Count returns how many durations were counted.
func (h Histogram) Count() (n int64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Mean returns the mean of the durations, or 0 if there are none.
func (h Histogram) Mean() time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	return h.Sum / time.Duration(n)
}

// Quantile returns a duration that the fraction q of the durations do not exceed:
// the bound of the bucket that the quantile is in, at most half as long again as
// the quantile itself. In the last bucket it returns the bound of the one before,
// which the quantile exceeds. A q below 0 counts as 0, and above 1 as 1. The result
// is 0 if nothing was counted.
func (h Histogram) Quantile(q float64) time.Duration {
	n := h.Count()
	if n <= 0 {
		return 0
	}
	rank, i := int64(math.Ceil(min(max(q, 0), 1)*float64(n))), 0
	for seen := h.Counts[0]; seen < max(rank, 1) && i < HistogramBuckets-2; seen += h.Counts[i] {
		i++
	}
	return h.Bound(i)
}

// Sub returns what was counted since earlier, a snapshot of the same histogram.
func (h Histogram) Sub(earlier Histogram) Histogram {
	for i, n := range earlier.Counts {
		h.Counts[i] -= n
	}
	h.Sum -= earlier.Sum
	return h
}
