// Package lateness records how late events are.
package lateness

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cli"
)

// Recorder records lateness. It is safe for concurrent use. Its zero value is empty.
type Recorder struct {
	mu        sync.Mutex
	histogram hwt.Histogram // Guarded by mu.
	max       time.Duration // exact. Guarded by mu.
	early     int64         // negative values. Guarded by mu.
}

// Record records one lateness. A negative one counts as early only.
func (r *Recorder) Record(lateness time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lateness < 0 {
		r.early++
		return
	}
	h := &r.histogram
	i := sort.Search(len(h.Counts)-1, func(i int) bool { return lateness <= h.Bound(i) })
	h.Counts[i]++
	h.Sum += lateness
	r.max = max(r.max, lateness)
}

// Summary returns the records so far.
func (r *Recorder) Summary() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	quantile := func(q float64) time.Duration { return min(r.histogram.Quantile(q), r.max) }
	return Summary{
		Count: r.histogram.Count(), Early: r.early, Max: r.max,
		P50: quantile(0.5), P99: quantile(0.99), P999: quantile(0.999), Bins: bins(r.histogram),
	}
}

// Summary is the content of a [Recorder]. Its durations are nanoseconds in JSON. The
// quantiles are bounds of [hwt.Histogram], at most half as long again as the exact ones.
type Summary struct {
	Count int64         `json:"count"`
	Early int64         `json:"early"` // negative values, not part of the rest
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	P999  time.Duration `json:"p999_ns"`
	Max   time.Duration `json:"max_ns"`
	Bins  []Bin         `json:"histogram"` // from the first that is not empty to the last
}

// Bin is one bar of a histogram: it counts up to UpTo, from the bin before.
type Bin struct {
	UpTo  time.Duration `json:"up_to_ns"`
	Count int64         `json:"count"`
}

// maxBins is the number of bins that leaves room on a terminal of 24 lines.
const maxBins = 6

// bins merges buckets into at most maxBins bins of equal width on the logarithmic scale.
func bins(h hwt.Histogram) []Bin {
	first, last := 0, len(h.Counts)-1
	for first <= last && h.Counts[first] == 0 {
		first++
	}
	for last >= first && h.Counts[last] == 0 {
		last--
	}
	list := []Bin{}
	width := (last-first)/maxBins + 1
	for i := first; i <= last; i += width {
		end := min(i+width-1, last)
		bin := Bin{UpTo: h.Bound(end)}
		for _, n := range h.Counts[i : end+1] {
			bin.Count += n
		}
		list = append(list, bin)
	}
	return list
}

// barWidth is the length of the longest bar, in characters.
const barWidth = 40

// Histogram draws the bins, one per line.
func (s Summary) Histogram() string {
	var fullest int64 = 1
	for _, bin := range s.Bins {
		fullest = max(fullest, bin.Count)
	}
	var text strings.Builder
	for _, bin := range s.Bins {
		bar := strings.Repeat("#", int(bin.Count*barWidth/fullest))
		if bar == "" && bin.Count > 0 {
			bar = "."
		}
		line := fmt.Sprintf("  up to %7s %12s  %s", cli.Duration(bin.UpTo), cli.Count(bin.Count), bar)
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return text.String()
}
