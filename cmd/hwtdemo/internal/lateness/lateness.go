// Package lateness records how late events were.
package lateness

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longest is the longest lateness that is distinguished from longer ones.
const longest = time.Hour

// Recorder records latenesses, to three digits. It is safe for concurrent use and
// takes 300 KB, however much it records.
type Recorder struct {
	mu        sync.Mutex
	histogram *hdrhistogram.Histogram // of nanoseconds. Guarded by mu.
	max       time.Duration           // exact. Guarded by mu.
	early     int64                   // recordings below zero. Guarded by mu.
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder {
	return &Recorder{histogram: hdrhistogram.New(1, int64(longest), 3)}
}

// Record records one lateness. A negative one only counts as early.
func (r *Recorder) Record(lateness time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lateness < 0 {
		r.early++
		return
	}
	r.max = max(r.max, lateness)
	_ = r.histogram.RecordValue(int64(min(lateness, longest))) // cannot fail: within the range
}

// Summary returns what has been recorded.
func (r *Recorder) Summary() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Summary{Count: r.histogram.TotalCount(), Early: r.early, Max: r.max, Bins: []Bin{}}
	if s.Count > 0 {
		s.P50, s.P99, s.P999 = r.quantile(50), r.quantile(99), r.quantile(99.9)
		s.Bins = bins(r.histogram.Distribution())
	}
	return s
}

// quantile returns the lateness that q percent did not exceed. The histogram rounds
// up; the maximum is exact.
func (r *Recorder) quantile(q float64) time.Duration {
	return min(time.Duration(r.histogram.ValueAtQuantile(q)), r.max)
}

// Summary is what a [Recorder] has recorded. Its durations are nanoseconds in JSON.
type Summary struct {
	Count int64         `json:"count"` // latenesses recorded
	Early int64         `json:"early"` // recordings below zero, not part of the rest
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	P999  time.Duration `json:"p999_ns"`
	Max   time.Duration `json:"max_ns"`
	Bins  []Bin         `json:"histogram"` // from the first that is not empty to the last
}

// Bin is one bar of a histogram: how many were no later than UpTo, and later than
// the bin before.
type Bin struct {
	UpTo  time.Duration `json:"up_to_ns"`
	Count int64         `json:"count"`
}
