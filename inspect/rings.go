package inspect

import (
	"github.com/hashedwheel/hwt/internal/inspection"
)

// maxSegments is the largest number of segments of a ring on the page.
const maxSegments = 512

// ring is a ring of buckets on the page.
type ring struct {
	Buckets  int     `json:"buckets"`
	Span     int64   `json:"span_ns"` // the time span of a bucket
	Hand     float64 `json:"hand"`    // the current position in buckets
	Segments []int   `json:"segments"`
}

// ringsOf counts the timeouts in the rings of a worker.
func ringsOf(w inspection.Worker) []ring {
	seen := w.Rings()
	rings := make([]ring, len(seen))
	for i, r := range seen {
		rings[i] = ring{Buckets: r.Buckets, Span: int64(r.Span), Segments: make([]int, min(r.Buckets, maxSegments))}
	}
	w.Count(func(i, bucket, n int) {
		if i < len(rings) { // a new level may have appeared
			r := &rings[i]
			r.Segments[segmentOf(int64(bucket), int64(len(r.Segments)), int64(r.Buckets))] += n
		}
	})
	for i, r := range w.Rings() { // after the count, because the count takes time
		if i < len(rings) {
			rings[i].Hand = float64(r.Hand) + float64(r.Turned)/float64(r.Span)
		}
	}
	return rings
}

// segmentOf returns the segment of a bucket. The product exceeds the int of a 32-bit machine.
func segmentOf(bucket, segments, buckets int64) int64 { return bucket * segments / buckets }

// wheels returns the rings of each worker by timer name.
func wheels(timers []timer) map[string][][]ring {
	all := make(map[string][][]ring)
	for _, t := range timers {
		if t.view == nil {
			continue
		}
		workers := [][]ring{}
		for _, w := range t.view.Workers() {
			workers = append(workers, ringsOf(w))
		}
		all[t.name] = workers
	}
	return all
}
