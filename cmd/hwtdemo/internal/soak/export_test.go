package soak

import "time"

// SetPatience sets the time that a round waits for its last tasks. reset restores it.
func SetPatience(d time.Duration) (reset func()) {
	before := patience
	patience = d
	return func() { patience = before }
}

// HeapSlack is the growth of the heap that is no violation.
func HeapSlack() int64 { return heapSlack() }
