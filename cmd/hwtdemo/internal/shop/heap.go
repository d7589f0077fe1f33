package shop

import (
	"runtime"
	"time"
)

// When measuring the heap makes sense.
const (
	heapMinPending = 10_000                 // fewer checks vanish among everything else
	heapMinTime    = 500 * time.Millisecond // until the first check is due
)

// heapInUse returns the bytes of heap that are reachable.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// measureHeap notes what the heap has grown by since it was at empty, for each
// check pending. All orders are placed, and no payment is made yet: so all
// checks are pending, and the orders' own memory was allocated before.
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
