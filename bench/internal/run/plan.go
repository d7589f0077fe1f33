// Package run plans the comparison and runs each measurement in its own process, round by
// round, the engines in turn.
package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// size is the amount of work.
type size struct {
	growth     []int // backgrounds of the growth plot, from none to most
	operations int
	expiring   int
	bursts     []int         // timeouts due within one second
	span       time.Duration // of heartbeats and correctness
	subjects   int           // timeouts of the correctness measurements
	beats      int           // timeouts with heartbeats
	load       time.Duration // duration of a load
	rates      []int         // sustained, per second, with a delay of 100 ms
	busy       time.Duration // duration of the load beside busy goroutines
	lone       time.Duration // of timeouts scheduled one at a time
}

var full = size{
	growth:     []int{0, 1e4, 1e6},
	operations: 1e6, expiring: 1e6, bursts: []int{3e6}, span: 4 * time.Second, subjects: 100_000, beats: 1e6,
	load: 2 * time.Second, rates: []int{1e5, 1e6, 4e6}, busy: 5 * time.Second, lone: 6 * time.Second,
}

var quick = size{
	growth:     []int{0, 1e5},
	operations: 50_000, expiring: 100_000, bursts: []int{300_000}, span: 400 * time.Millisecond, subjects: 20_000, beats: 20_000,
	load: 500 * time.Millisecond, rates: []int{1e5}, busy: 500 * time.Millisecond, lone: 200 * time.Millisecond,
}

// cases returns all measurements without engines.
func (z size) cases() (cases []spec.Spec) {
	add := func(c spec.Spec) { cases = append(cases, c) }
	operations := func(measure string, producers, pending int) {
		add(spec.Spec{Measure: measure, Producers: producers, Pending: pending, N: z.enough(measure, pending)})
	}
	most := z.growth[len(z.growth)-1]
	operations(spec.Schedule, 1, 0)
	operations(spec.Schedule, 1, most)
	for _, pending := range z.growth {
		operations(spec.Cancel, 1, pending)
	}
	operations(spec.Cancel, 2, most)
	add(spec.Spec{Measure: spec.ResetAll, Pending: z.beats, Span: 15 * time.Second})
	add(spec.Spec{Measure: spec.Heartbeats, Pending: z.beats, Span: z.span})
	for _, pending := range z.growth[1:] {
		add(spec.Spec{Measure: spec.Heap, Pending: pending})
	}
	add(spec.Spec{Measure: spec.Expire, N: z.expiring, Span: 15 * time.Second})
	for _, n := range z.bursts {
		add(spec.Spec{Measure: spec.Burst, N: n, Span: 15 * time.Second})
	}
	for _, rate := range z.rates {
		add(spec.Spec{Measure: spec.Sustained, Producers: 2, Rate: rate, Delay: 100 * time.Millisecond, Span: z.load})
	}
	for _, busy := range []int{20, 200} {
		add(spec.Spec{Measure: spec.Saturated, Busy: busy, Span: z.busy})
	}
	for _, rate := range []int{100, 1000, 10_000} {
		add(spec.Spec{Measure: spec.Trickle, Rate: rate, Span: z.load})
	}
	add(spec.Spec{Measure: spec.Lone, Span: z.lone})
	add(spec.Spec{Measure: spec.Correct, N: z.subjects, Span: z.span / 2})
	return cases
}

// enough returns the number of operations to time. With many pending timeouts, a garbage
// collection is a large part of the cost of an allocation, and few operations would meet
// one by chance. The operations therefore allocate more than the heap may grow.
func (z size) enough(measure string, pending int) int {
	switch {
	case pending < z.operations:
		return z.operations
	case measure == spec.Cancel:
		return 3*pending + z.operations
	}
	return pending + z.operations
}

// measures reports whether case c is measured on the engine.
func measures(c spec.Spec, k engines.Kind) bool {
	if c.Measure == spec.Burst && k.Each { // millions of concurrent goroutines
		return false
	}
	return len(k.Only) == 0 || slices.Contains(k.Only, c.Measure)
}

// specs returns every measurement of the cases on the engines, ordered by case.
func specs(cases []spec.Spec, kinds []engines.Kind) (all []spec.Spec) {
	for _, c := range cases {
		for _, k := range kinds {
			if measures(c, k) {
				c.Engine = k.Name
				all = append(all, c)
			}
		}
	}
	return all
}

// CheckOnly returns an error if a name is no measurement.
func CheckOnly(names []string) error {
	for _, name := range names {
		if !slices.Contains(spec.Measurements, name) {
			return fmt.Errorf("no measurement %q (known: %s)", name, strings.Join(spec.Measurements, ", "))
		}
	}
	return nil
}

// limit is the time after which a measurement is killed.
func limit(s spec.Spec) time.Duration {
	most := 6*time.Second + 10*s.Span + 4*s.Delay + time.Duration(s.N+s.Pending)*20*time.Microsecond
	if k, err := engines.Find(s.Engine); err == nil && k.Foreign {
		most += 20 * time.Second // for the compiler
	}
	return most
}
