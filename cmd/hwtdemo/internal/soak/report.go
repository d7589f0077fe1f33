package soak

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/internal/cli"
)

// Report is the result of a [Soak].
type Report struct {
	Seed        uint64
	Callers     int
	Elapsed     time.Duration
	Interrupted bool
	Engines     []*EngineReport
	Before      Memory // after the first round of every engine
	After       Memory
	Violations  []string // must be empty
}

// EngineReport sums up the rounds of an engine.
type EngineReport struct {
	Engine                                                                string
	Rounds, Operations, Faults, Accepted, Expired, Cancelled, Unprocessed int64
	Looks                                                                 int64 // checks of the counts during rounds
}

func newReport(c Config) *Report {
	r := &Report{Seed: c.Seed, Callers: c.Callers, Violations: []string{}}
	for _, e := range c.Engines {
		r.Engines = append(r.Engines, &EngineReport{Engine: e.Name})
	}
	return r
}

// add adds a round that was checked.
func (e *EngineReport) add(r *round, seen *statsWatcher) {
	s := r.timer.Stats()
	e.Rounds++
	e.Operations += r.operations.Load()
	e.Faults += r.faults.Load()
	e.Accepted += s.Accepted
	e.Expired += s.Expired
	e.Cancelled += s.Cancelled
	e.Unprocessed += s.Unprocessed
	e.Looks += seen.looks
}

// maxViolations is the number of violations that are kept.
const maxViolations = 100

func (r *Report) violated(format string, args ...any) {
	if len(r.Violations) < maxViolations {
		r.Violations = append(r.Violations, fmt.Sprintf(format, args...))
	}
}

// heapSlack is the growth of the heap that is no violation. The runtime may hold some
// stopped timers for long, and a timer has parts for each processor.
func heapSlack() int64 { return 128 << 10 * max(int64(runtime.GOMAXPROCS(0)), 16) }

// descriptorSize bounds the descriptor of a goroutine, and its place in the runtime's
// list. The runtime reuses descriptors, but never releases one.
const descriptorSize = 512

// checkMemory compares the memory at the end with that of the beginning.
func (r *Report) checkMemory() {
	if r.After.Goroutines > r.Before.Goroutines {
		r.violated("goroutines: %d before, %d after", r.Before.Goroutines, r.After.Goroutines)
	}
	descriptors := descriptorSize * (r.After.Peak - r.Before.Peak)
	if r.After.Heap > r.Before.Heap+descriptors+heapSlack() {
		r.violated("heap: %d bytes before, %d after, of which %d are descriptors of goroutines",
			r.Before.Heap, r.After.Heap, descriptors)
	}
}

// Err returns an error if there are violations. An interrupt is not one.
func (r *Report) Err() error {
	if len(r.Violations) == 0 {
		return nil
	}
	return fmt.Errorf("%s, the first: %s", cli.Plural(len(r.Violations), "violation"), r.Violations[0])
}

// Text returns the report for people.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Soaked for %s with %s, seed %d.\n", cli.Duration(r.Elapsed), cli.Plural(r.Callers, "caller"), r.Seed)
	if r.Interrupted {
		b.WriteString("It was interrupted.\n")
	}
	b.WriteByte('\n')
	r.writeTable(&b)
	fmt.Fprintf(&b, "\nheap        %s bytes before, %s after\n", cli.Count(r.Before.Heap), cli.Count(r.After.Heap))
	fmt.Fprintf(&b, "goroutines  %d before, %d after, at most %s at once\n",
		r.Before.Goroutines, r.After.Goroutines, cli.Count(r.After.Peak))
	fmt.Fprintf(&b, "violations  %d\n", len(r.Violations))
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "  %s\n", v)
	}
	return b.String()
}

// writeTable writes the counts, with a column per engine.
func (r *Report) writeTable(w io.Writer) {
	row := func(name string, cell func(*EngineReport) string) {
		fmt.Fprintf(w, "%-14s", name)
		for _, e := range r.Engines {
			fmt.Fprintf(w, "%17s", cell(e))
		}
		fmt.Fprintln(w)
	}
	count := func(name string, n func(*EngineReport) int64) {
		row(name, func(e *EngineReport) string { return cli.Count(n(e)) })
	}
	row("", func(e *EngineReport) string { return e.Engine })
	count("rounds", func(e *EngineReport) int64 { return e.Rounds })
	count("operations", func(e *EngineReport) int64 { return e.Operations })
	count("checks", func(e *EngineReport) int64 { return e.Looks })
	count("faults", func(e *EngineReport) int64 { return e.Faults })
	count("accepted", func(e *EngineReport) int64 { return e.Accepted })
	count("= expired", func(e *EngineReport) int64 { return e.Expired })
	count("+ cancelled", func(e *EngineReport) int64 { return e.Cancelled })
	count("+ unprocessed", func(e *EngineReport) int64 { return e.Unprocessed })
}
