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

// heapInUse returns the size of the reachable heap in bytes.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// measureHeap measures the growth of the heap per pending check since it was empty. All
// orders are placed and unpaid. The memory of the orders was allocated before.
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
