package durable

import (
	"sort"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/durable/backend"
)

// counts are the counters of Stats.
type counts struct {
	set, moved, cancelled                      atomic.Int64
	leased, fired, succeeded, retried, givenUp atomic.Int64
	missed, overtaken, fenced, adopted         atomic.Int64
	lateness, claimTime                        histogram
}

// op counts an operation that succeeded.
func (c *counts) op(kind backend.Kind) {
	switch kind {
	case backend.Set, backend.Create:
		c.set.Add(1)
	case backend.Move:
		c.moved.Add(1)
	case backend.Cancel:
		c.cancelled.Add(1)
	}
}

// histogram counts durations.
type histogram struct {
	counts [len(hwt.Histogram{}.Counts)]atomic.Int64
	sum    atomic.Int64
}

func (h *histogram) note(d time.Duration) {
	i := sort.Search(len(h.counts)-1, func(i int) bool { return d <= hwt.Histogram{}.Bound(i) })
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

func (h *histogram) load() hwt.Histogram {
	snapshot := hwt.Histogram{Sum: time.Duration(h.sum.Load())}
	for i := range h.counts {
		snapshot.Counts[i] = h.counts[i].Load()
	}
	return snapshot
}
