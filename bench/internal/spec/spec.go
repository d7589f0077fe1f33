// Package spec defines what is measured and what a measurement returns. The parent
// process and its children exchange both as JSON.
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
	Burst        = "burst"         // the same with several millions
	Idle         = "idle"          // what waiting costs
	Deadlines    = "deadlines"     // the workload of golang/go issue 41699, paced
	Goroutines   = "goroutines"    // the same, a goroutine for each timer
	Floor        = "floor"         // what a timer can hardly do without
	Correct      = "correct"       // early, lost, repeated, cancels
	Moved        = "moved"         // early, lost, repeated, with resets instead of cancels
	FullSpeed    = "full-speed"    // producers that schedule one and cancel the oldest as fast as they can
	ShortLived   = "short-lived"   // the same at an even pace
	ResetStorm   = "reset-storm"   // one producer that resets timeouts as fast as it can
	LongTick     = "long-tick"     // a sustained rate of expiring timeouts at a long tick
	Sustained    = "sustained"     // a sustained rate, half of the timeouts cancelled
	Saturated    = "saturated"     // chains of timeouts among goroutines that keep the processors busy
	Trickle      = "trickle"       // a few schedules a second: CPU time and context switches
)

// Spec is one measurement of one engine: the work of one child process.
type Spec struct {
	Measure   string        `json:"measure"`
	Engine    string        `json:"engine"`
	Producers int           `json:"producers,omitempty"` // goroutines that call the timer
	Pending   int           `json:"pending,omitempty"`   // far timeouts in the background, or those of a load
	N         int           `json:"n,omitempty"`         // operations, or timeouts
	Span      time.Duration `json:"span,omitempty"`      // how long to look, for what is measured by time
	Rate      int           `json:"rate,omitempty"`      // timeouts scheduled a second, by all producers
	Delay     time.Duration `json:"delay,omitempty"`     // of the timeouts scheduled at that rate
	Tick      time.Duration `json:"tick,omitempty"`      // 0: the engine's own
	Busy      int           `json:"busy,omitempty"`      // goroutines that keep the processors busy
}

// Case returns the spec without its engine. Engines are compared in a case.
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
	if s.Rate > 0 {
		text += fmt.Sprintf(" %d/s", s.Rate)
	}
	if s.Delay > 0 {
		text += fmt.Sprintf(" due after %v", s.Delay)
	}
	if s.Busy > 0 {
		text += fmt.Sprintf(" %d chains among %d", s.N, s.Busy)
	}
	return text + " " + s.Engine
}

// The metrics of samples. Less is better in all but PerSec.
const (
	WallNs    = "wall_ns"    // time of a producer for each operation
	CPUNs     = "cpu_ns"     // CPU time of the process for each operation
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
	Refused  = "refused"  // its cancel returned false, long before the deadline
	Behind   = "behind"   // operations that were not made in time, in %
	PerSec   = "per_s"    // operations a second: more is better
	DoneMs   = "done_ms"  // from the first deadline until all had fired
	PeakMB   = "peak_mb"  // the most memory that the process held
	AllocNs  = "alloc_ns" // one allocation of a timeout's size
	ClockNs  = "clock_ns" // one reading of the clock
	SwapNs   = "swap_ns"  // one atomic swap
)

// Shares are the points at which a distribution of lateness is kept: that share of
// the timeouts was at most so late.
var Shares = []float64{
	0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9,
	0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 1,
}

// Sample is what one child process measured.
type Sample struct {
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Late    []float64          `json:"late,omitempty"` // in ms, at Shares
	// Failure is why figures are missing: the process took too long or crashed, or the
	// engine cannot do it.
	Failure string `json:"failure,omitempty"`
}
