package durable

import (
	"iter"
	"maps"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/durable/backend"
)

// counts are the counters of Stats.
type counts struct {
	set, moved, cancelled                      atomic.Int64
	leased, missed, overtaken, fenced, adopted atomic.Int64
	claimTime                                  histogram
	kinds                                      kindTable
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

// kindCounts are the counters of a kind in all Works of a Store.
type kindCounts struct {
	fired, succeeded, retried, givenUp, overtime atomic.Int64
	lateness                                     histogram
}

// kindTable has the counters of a Store by pattern of the kind, or "" for Works without kinds.
type kindTable struct {
	mu     sync.Mutex
	counts map[string]*kindCounts // Guarded by mu.
}

// of returns the counters of a kind.
func (t *kindTable) of(pattern string) *kindCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = make(map[string]*kindCounts)
	}
	c := t.counts[pattern]
	if c == nil {
		c = &kindCounts{}
		t.counts[pattern] = c
	}
	return c
}

// all returns the counters in the order of the patterns.
func (t *kindTable) all() iter.Seq2[string, *kindCounts] {
	t.mu.Lock()
	counts := maps.Clone(t.counts)
	t.mu.Unlock()
	return func(yield func(string, *kindCounts) bool) {
		for _, pattern := range slices.Sorted(maps.Keys(counts)) {
			if !yield(pattern, counts[pattern]) {
				return
			}
		}
	}
}
