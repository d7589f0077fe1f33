package shop

import (
	"runtime"
	"time"
)

// The heap is measured only if there is enough to measure, and time for it.
const (
	heapMinPending = 10_000                 // checks
	heapMinTime    = 500 * time.Millisecond // until the first check is due
)

// heapInUse returns how many bytes of heap are reachable.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// measureHeap measures how much the heap has grown since it was empty, for each
// pending check. All orders are placed and none is paid, so that all checks are
// pending. The orders' own memory was allocated before.
func (s *Simulation) measureHeap(empty int64) {
	pending := s.timer.Pending()
	switch {
	case pending < heapMinPending:
		s.report.HeapNote = "too few checks to measure"
		return
	case s.config.CheckAfter-s.shop.elapsed() < heapMinTime:
		s.report.HeapNote = "no time to measure before the first check"
		return
	}
	perCheck := float64(heapInUse()-empty) / float64(pending)
	s.report.HeapPerCheck = &perCheck
	s.report.HeapPending = pending
}
