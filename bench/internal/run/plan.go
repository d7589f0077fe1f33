// Package run plans the comparison, and runs each measurement in a process of its own,
// round by round, the engines in turn.
package run

import (
	"fmt"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/foreign"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/internal/cli"
)

// size is how much is measured.
type size struct {
	growth     []int // the backgrounds over which growth is shown
	background []int // those of them that two producers are measured on
	operations int
	expiring   int
	bursts     []int         // timeouts that come due within one second
	span       time.Duration // for what is measured by time
	subjects   int           // timeouts of the correctness measurement
	beats      int           // timeouts with heartbeats
	deadlines  int           // timers in the workload of the Go issue
	load       time.Duration // how long to look at a load
	rates      []int         // sustained with a short delay, a second
	longRates  []int         // with a long delay
	longDelay  time.Duration
}

var full = size{
	growth:     []int{0, 1e3, 1e5, 1e6, 1e7},
	background: []int{0, 1e6},
	operations: 1e6, expiring: 1e6, bursts: []int{3e6, 6e6, 1e7}, span: 5 * time.Second, subjects: 200_000, beats: 1e6, deadlines: 50_000,
	load: 3 * time.Second, rates: []int{1e5, 3e5, 1e6, 2e6, 4e6, 8e6}, longRates: []int{1e6, 4e6, 8e6}, longDelay: 10 * time.Second,
}

var quick = size{
	growth:     []int{0, 1e4, 1e5},
	background: []int{0, 1e5},
	operations: 50_000, expiring: 100_000, bursts: []int{300_000}, span: 400 * time.Millisecond, subjects: 20_000, beats: 20_000, deadlines: 5_000,
	load: time.Second, rates: []int{1e5, 1e6}, longRates: []int{1e5}, longDelay: 500 * time.Millisecond,
}

// without returns z without what needs more memory than there is, and notes of what was
// left out.
func (z size) without(memory int64) (size, []string) {
	const (
		pending   = 1 << 10 // bytes a timeout: the greediest rival, while the collector lets its heap grow
		sustained = 1 << 8  // of the engines that carry a high rate
	)
	var notes []string
	fits := func(n int, bytes int64) bool { return memory == 0 || int64(n)*bytes <= memory }
	z.background = slices.DeleteFunc(slices.Clone(z.background), func(n int) bool { return !fits(n, pending) })
	z.growth = slices.DeleteFunc(slices.Clone(z.growth), func(n int) bool {
		if !fits(n, pending) {
			notes = append(notes, fmt.Sprintf("%s pending were left out, since there is not enough memory.", cli.Count(int64(n))))
		}
		return !fits(n, pending)
	})
	z.longRates = slices.DeleteFunc(slices.Clone(z.longRates), func(rate int) bool {
		live := int(float64(rate) * z.longDelay.Seconds())
		if !fits(live, sustained) {
			notes = append(notes, fmt.Sprintf("%s timeouts a second that are due after %v were left out, since there is not enough memory.",
				cli.Count(int64(rate)), z.longDelay))
		}
		return !fits(live, sustained)
	})
	return z, notes
}

// cases returns all that is measured, without engines.
func (z size) cases() []spec.Spec {
	cases := []spec.Spec{{Measure: spec.Floor, N: z.operations * 4}}
	for _, measure := range []string{spec.Schedule, spec.Cancel} {
		for _, pending := range z.growth {
			cases = append(cases, spec.Spec{Measure: measure, Producers: 1, Pending: pending, N: z.enough(measure, pending)})
		}
		for _, pending := range z.background {
			cases = append(cases, spec.Spec{Measure: measure, Producers: 2, Pending: pending, N: z.enough(measure, pending)})
		}
	}
	for _, measure := range []string{spec.ResetLater, spec.ResetEarlier} {
		for _, pending := range z.growth {
			cases = append(cases, spec.Spec{Measure: measure, Producers: 1, Pending: pending, N: 2 * z.operations})
		}
	}
	for _, pending := range z.growth {
		if pending > 0 {
			cases = append(cases, spec.Spec{Measure: spec.Heap, Pending: pending})
		}
	}
	return slices.Concat(cases, z.timed(), z.loads())
}

// enough returns how many operations to time. With many pending, a collection is a large
// part of what an allocation costs, and whether one falls into the time of a few
// operations is chance. So the operations allocate more than the collector lets a heap
// grow.
func (z size) enough(measure string, pending int) int {
	switch {
	case pending < z.operations:
		return z.operations
	case measure == spec.Cancel:
		return 3*pending + z.operations
	}
	return pending + z.operations
}

// timed returns the cases that are measured by time.
func (z size) timed() []spec.Spec {
	cases := []spec.Spec{
		{Measure: spec.ResetAll, Pending: z.beats},
		{Measure: spec.Heartbeats, Pending: z.beats, Span: z.span},
		{Measure: spec.Expire, N: z.expiring, Span: 15 * time.Second},
		{Measure: spec.Idle, Span: z.span},
		{Measure: spec.Deadlines, N: z.deadlines, Span: z.span},
		{Measure: spec.Goroutines, N: z.deadlines, Span: z.span},
		{Measure: spec.Correct, N: z.subjects, Span: z.span / 2},
		{Measure: spec.Moved, N: z.subjects, Span: z.span / 2},
	}
	for _, n := range z.bursts {
		cases = append(cases, spec.Spec{Measure: spec.Burst, N: n, Span: 15 * time.Second})
	}
	if len(z.background) > 1 { // what fits into memory
		cases = append(cases, spec.Spec{Measure: spec.Idle, Span: z.span, Pending: z.background[1]})
	}
	return cases
}

// mostForSlow is how many pending timeouts a slow engine is measured with at most.
const mostForSlow = 1e6

// measures reports whether case c is measured on the engine.
func measures(c spec.Spec, k engines.Kind) bool {
	switch {
	case len(k.Only) > 0 && !slices.Contains(k.Only, c.Measure):
		return false
	case c.Measure == spec.Goroutines:
		return k.Ours || k.Package == "time" // the issue is about the runtime's timers
	case k.Slow && c.Pending > mostForSlow:
		return false
	case c.Measure == spec.Burst && (k.Slow || k.GoroutineEach()): // millions of goroutines at once
		return false
	case c.Measure == spec.LongTick && k.Fixed:
		return false
	case k.Foreign:
		return foreign.Measures(c.Measure)
	}
	return true
}

// specs returns every measurement of the cases on the engines, those of one case
// side by side.
func specs(cases []spec.Spec, kinds []engines.Kind) []spec.Spec {
	var all []spec.Spec
	for _, c := range cases {
		if c.Measure == spec.Floor {
			all = append(all, c)
			continue
		}
		for _, k := range kinds {
			if measures(c, k) {
				c.Engine = k.Name
				all = append(all, c)
			}
		}
	}
	return all
}
