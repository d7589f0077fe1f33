package hwt

import (
	"math"
	"time"

	"github.com/hashedwheel/hwt/internal/histogram"
)

// Histogram counts durations by size in 64 buckets, two per doubling. Bucket 0
// counts durations up to 1.024 µs (2^10 ns), bucket 1 up to 1.536 µs, bucket 2 up to
// 2.048 µs, and bucket 62 up to 36.7 min (2^41 ns). The last bucket counts longer
// ones. See [Histogram.Bound].
//
// Histogram is a value: copies share no memory.
type Histogram struct {
	Counts [64]int64     // by bucket
	Sum    time.Duration // of all counted durations
}

// Bound returns the longest duration that bucket i counts. For the last bucket it is
// the longest [time.Duration].
func (h Histogram) Bound(i int) time.Duration { return time.Duration(histogram.Bound(i)) }

// Count returns the number of counted durations.
func (h Histogram) Count() (n int64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Mean returns the mean of the durations, or 0 if the histogram is empty.
func (h Histogram) Mean() time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	return h.Sum / time.Duration(n)
}

// Quantile returns an upper bound of the q-quantile of the durations: the bound of the
// bucket that contains it. The bound is at most 1.5 times the quantile, unless the
// quantile is below 1.024 µs. If the quantile is in the last bucket, Quantile returns
// that bucket's lower bound, about 36.7 min.
//
// A q below 0 counts as 0, and a q above 1 as 1. The result is 0 if the histogram is
// empty.
func (h Histogram) Quantile(q float64) time.Duration {
	n := h.Count()
	if n <= 0 {
		return 0
	}
	rank, i := int64(math.Ceil(min(max(q, 0), 1)*float64(n))), 0
	for seen := h.Counts[0]; seen < max(rank, 1) && i < histogram.Buckets-2; seen += h.Counts[i] {
		i++
	}
	return h.Bound(i)
}

// Sub returns the durations counted since earlier, a snapshot of the same histogram.
func (h Histogram) Sub(earlier Histogram) Histogram {
	for i, n := range earlier.Counts {
		h.Counts[i] -= n
	}
	h.Sum -= earlier.Sum
	return h
}
