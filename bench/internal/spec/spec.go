// Package spec says what is measured, and what comes of it, in the words that
// the parent process and its children share.
package spec

import (
	"fmt"
	"time"
)

// The measurements.
const (
	Schedule     = "schedule"      // schedule, and leave it pending
	Cancel       = "cancel"        // schedule and cancel at once
	ResetLater   = "reset-later"   // reset one timeout to later, again and again
	ResetEarlier = "reset-earlier" // the same to earlier
	ResetAll     = "reset-all"     // reset each of many timeouts to earlier, once
	Heartbeats   = "heartbeats"    // reset each of many timeouts to later, at an even pace
	Heap         = "heap"          // heap of a pending timeout, length of a GC cycle
	Expire       = "expire"        // many coming due within one second
	Idle         = "idle"          // what waiting costs
	Deadlines    = "deadlines"     // the workload of golang/go issue 41699, paced
	Goroutines   = "goroutines"    // the same, a goroutine for each timer
	Floor        = "floor"         // what no timer can do without
	Correct      = "correct"       // early, lost, repeated, cancels
	Moved        = "moved"         // early, lost, repeated, with resets instead of cancels
)

// Spec is one measurement of one engine: the work of one child process.
type Spec struct {
	Measure   string        `json:"measure"`
	Engine    string        `json:"engine"`
	Producers int           `json:"producers,omitempty"` // goroutines that call the timer
	Pending   int           `json:"pending,omitempty"`   // far timeouts in the background
	N         int           `json:"n,omitempty"`         // operations, or timeouts
	Span      time.Duration `json:"span,omitempty"`      // how long to look, for what is measured by time
}

// Case returns the spec without its engine: what engines are compared in.
func (s Spec) Case() Spec {
	s.Engine = ""
	return s
}

func (s Spec) String() string {
	text := s.Measure
	if s.Producers > 1 {
		text += fmt.Sprintf(" by %d", s.Producers)
	}
	if s.Pending > 0 {
		text += fmt.Sprintf(" at %.0e", float64(s.Pending))
	}
	return text + " " + s.Engine
}

// The metrics of samples. Less is better in all of them.
const (
	WallNs    = "wall_ns"    // a producer's time for each operation
	CPUNs     = "cpu_ns"     // the whole process's CPU time for each operation
	Bytes     = "bytes"      // allocated by each operation
	Allocs    = "allocs"     // allocations by each operation
	HeapBytes = "heap_bytes" // held by each pending timeout
	GCMs      = "gc_ms"      // length of a GC cycle
	CorePct   = "core_pct"   // CPU time, as a percentage of one core
	WakeUps   = "wakeups"    // voluntary context switches a second

	LateMin  = "late_min_ms"
	LateP50  = "late_p50_ms"
	LateP99  = "late_p99_ms"
	LateP999 = "late_p999_ms"
	LateMax  = "late_max_ms"

	Early    = "early"    // fired before its deadline
	EarlyMs  = "early_ms" // by how much at most
	Lost     = "lost"     // neither fired nor cancelled
	Repeated = "repeated" // fired more than once
	Revived  = "revived"  // fired though its cancel had come in time
	Refused  = "refused"  // its cancel said no, long before the deadline
	Behind   = "behind"   // share of the rounds that were not made in time, in %
	AllocNs  = "alloc_ns" // one allocation of a timeout's size
	ClockNs  = "clock_ns" // one reading of the clock
	SwapNs   = "swap_ns"  // one atomic swap
)

// Point is one point of a distribution: that share of the timeouts was at most
// so late.
type Point struct {
	Share float64 `json:"share"`
	Ms    float64 `json:"ms"`
}

// Sample is what one child process measured.
type Sample struct {
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Late    []Point            `json:"late,omitempty"`
	// Failure says why there is no figure, or not all of them: it took too long, it
	// crashed, or it cannot.
	Failure string `json:"failure,omitempty"`
}
