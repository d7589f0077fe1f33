// Package run plans the comparison, and runs each measurement in a process of
// its own, round by round, the engines in turn.
package run

import (
	"fmt"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/netty"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// size is how much is measured.
type size struct {
	growth     []int // the backgrounds over which growth is shown
	background []int // those among them that all is measured on
	operations int
	expiring   int
	span       time.Duration // for what is measured by time
	subjects   int           // timeouts of the correctness measurement
	beats      int           // timeouts with heartbeats
	deadlines  int           // timers in the workload of the Go issue
}

var full = size{
	growth:     []int{0, 1e3, 1e5, 1e6, 1e7},
	background: []int{0, 1e6, 1e7},
	operations: 1e6, expiring: 1e6, span: 5 * time.Second, subjects: 200_000, beats: 1e6, deadlines: 50_000,
}

var quick = size{
	growth:     []int{0, 1e4, 1e5},
	background: []int{0, 1e5},
	operations: 50_000, expiring: 100_000, span: 400 * time.Millisecond, subjects: 20_000, beats: 20_000, deadlines: 5_000,
}

// without returns z without the backgrounds that need more memory than there is,
// and what was left out. What is pending is taken for 1 KiB each, as much as the
// greediest rival holds while the collector lets it grow.
func (z size) without(memory int64) (size, []string) {
	var notes []string
	fits := func(n int) bool { return memory == 0 || int64(n)<<10 <= memory }
	keep := func(list []int) []int {
		return slices.DeleteFunc(slices.Clone(list), func(n int) bool { return !fits(n) })
	}
	for _, n := range z.growth {
		if !fits(n) {
			notes = append(notes, fmt.Sprintf("%d pending were left out: 1 KiB each is more than the memory available.", n))
		}
	}
	z.growth, z.background = keep(z.growth), keep(z.background)
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
	return append(cases, z.timed()...)
}

// enough returns how many operations to time. With much pending a collection is
// a large part of what an allocation costs; few operations would have it fall
// into the time of one engine and not into that of another, by a hair of heap. So
// what is allocated is more than the collector lets a heap grow.
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
	if len(z.background) > 1 { // what fits into memory
		cases = append(cases, spec.Spec{Measure: spec.Idle, Span: z.span, Pending: z.background[1]})
	}
	return cases
}

// mostForSlow is how many pending an engine is measured with that is slow to take
// them.
const mostForSlow = 1e6

// measures reports whether case c is measured on the engine.
func measures(c spec.Spec, k engines.Kind) bool {
	switch {
	case c.Measure == spec.Goroutines:
		return k.Ours || k.Package == "time" // the issue is about the runtime's timers
	case k.Slow && c.Pending > mostForSlow:
		return false
	case k.Foreign:
		return netty.Measures(c.Measure)
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

// rounds returns how often s is measured: what takes very long, less often.
func rounds(s spec.Spec, rounds int) int {
	if s.Pending > 1e6 || s.Measure == spec.Correct || s.Measure == spec.Moved {
		return max(rounds/2, 1)
	}
	return rounds
}

// estimate guesses how long s takes, before it was ever measured.
func estimate(s spec.Spec) time.Duration {
	took := 400*time.Millisecond + time.Duration(s.N+s.Pending)*700*time.Nanosecond
	switch s.Measure {
	case spec.Expire:
		return 4*time.Second + time.Duration(s.N)*5*time.Microsecond
	case spec.Correct, spec.Moved:
		return 7*s.Span + 2*time.Second
	case spec.Heartbeats:
		return 2*s.Span + time.Second
	case spec.Idle, spec.Deadlines, spec.Goroutines:
		return took + s.Span + time.Second
	}
	return took
}

// limit is how long s may take before it is killed.
func limit(s spec.Spec) time.Duration {
	most := 6*time.Second + 10*s.Span + time.Duration(min(s.N, 1e6)+s.Pending)*20*time.Microsecond
	if k, err := engines.Find(s.Engine); err == nil && k.Foreign {
		most += 20 * time.Second // until it is compiled
	}
	return most
}
