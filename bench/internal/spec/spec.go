// Package spec defines measurements and their results. The parent process and its
// children exchange both as JSON.
package spec

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/internal/cli"
)

// The measurements.
const (
	Schedule   = "schedule"   // schedule, and leave pending
	Cancel     = "cancel"     // schedule and cancel
	ResetAll   = "reset-each" // reset each of many timeouts to an earlier time, until the last has run
	Heartbeats = "heartbeats" // reset each of many timeouts to a later time, paced
	Heap       = "heap"       // heap per pending timeout, duration of a GC cycle
	Expire     = "expire"     // a million timeouts due within one second
	Burst      = "burst"      // several millions due within one second
	Sustained  = "sustained"  // a sustained rate; half of the timeouts are cancelled
	Saturated  = "saturated"  // probes scheduled beforehand, beside busy goroutines
	Trickle    = "trickle"    // few schedules per second: CPU time and context switches
	Lone       = "lone"       // one timeout at a time
	Correct    = "correct"    // early, lost, and repeated timeouts; ignored cancels and resets
)

// Measurements lists all of them in the order of a run.
var Measurements = []string{
	Schedule, Cancel, ResetAll, Heartbeats, Heap, Expire, Burst, Sustained, Saturated, Trickle, Lone, Correct,
}

// Spec is one measurement of one engine: the work of one child process.
type Spec struct {
	Measure   string        `json:"measure"`
	Engine    string        `json:"engine"`
	Producers int           `json:"producers,omitempty"` // goroutines that call the timer
	Pending   int           `json:"pending,omitempty"`   // far timeouts in the background, or the timeouts of a load
	N         int           `json:"n,omitempty"`         // operations, or timeouts
	Span      time.Duration `json:"span,omitempty"`      // duration of a load
	Rate      int           `json:"rate,omitempty"`      // timeouts scheduled per second by all producers
	Delay     time.Duration `json:"delay,omitempty"`     // delay of the timeouts scheduled at that rate
	Busy      int           `json:"busy,omitempty"`      // goroutines that keep the processors busy
}

// CountsFaults reports whether s looks for faults of 100,000 timeouts. One round suffices.
func (s Spec) CountsFaults() bool { return s.Measure == Correct }

// Case returns the spec without its engine. A case compares engines.
func (s Spec) Case() Spec {
	s.Engine = ""
	return s
}

func (s Spec) String() string { return s.Measure + " of " + s.Engine + ": " + s.Conditions() }

// Conditions describes the case of s.
func (s Spec) Conditions() string {
	var parts []string
	switch {
	case s.Measure == Lone:
		parts = append(parts, "one at a time")
	case s.Busy > 0:
		parts = append(parts, fmt.Sprintf("%d busy goroutines", s.Busy))
	case s.Rate > 0:
		parts = append(parts, cli.Count(int64(s.Rate))+"/s")
	case slices.Contains([]string{Expire, Burst, Correct}, s.Measure):
		parts = append(parts, cli.Count(int64(s.N))+" timeouts")
	case s.Pending == 0:
		parts = append(parts, "nothing pending")
	default:
		parts = append(parts, cli.Count(int64(s.Pending))+" pending")
	}
	if s.Producers > 1 {
		parts = append(parts, fmt.Sprintf("%d producers", s.Producers))
	}
	return strings.Join(parts, ", ")
}

// The metrics of samples. Less is better.
const (
	WallNs    = "wall_ns"    // time of a producer per operation
	CPUNs     = "cpu_ns"     // CPU time of the process per operation
	Bytes     = "bytes"      // allocated per operation
	Allocs    = "allocs"     // allocations per operation
	HeapBytes = "heap_bytes" // per pending timeout
	GCMs      = "gc_ms"      // duration of a GC cycle
	CorePct   = "core_pct"   // CPU time, as a percentage of one core
	WakeUps   = "wakeups"    // voluntary context switches per second

	LateMin  = "late_min_ms"
	LateP50  = "late_p50_ms"
	LateP99  = "late_p99_ms"
	LateP999 = "late_p999_ms"
	LateMax  = "late_max_ms"

	Early    = "early"    // fired before its deadline
	EarlyMs  = "early_ms" // the largest earliness
	Lost     = "lost"     // neither fired nor cancelled
	Repeated = "repeated" // fired more than once
	Revived  = "revived"  // fired after a timely cancel
	Refused  = "refused"  // a cancel returned false long before the deadline
	Behind   = "behind"   // percentage of operations not made in time
	StallMs  = "stall_ms" // the longest stall of a bystander
	DoneMs   = "done_ms"  // from the first deadline until all had fired
	PeakMB   = "peak_mb"  // peak memory of the process

	CallP50 = "call_p50_us" // duration of NewTimeout for its caller
	CallP99 = "call_p99_us"
	CallMax = "call_max_us"
	StopP50 = "stop_p50_us" // duration of Cancel for its caller
	StopP99 = "stop_p99_us"
	StopMax = "stop_max_us"
)

// Sample is the result of one child process.
type Sample struct {
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// Failure explains missing metrics: a crash, a timeout, or a missing ability.
	Failure string `json:"failure,omitempty"`
}
