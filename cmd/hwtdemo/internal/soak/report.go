package soak

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/human"
)

// Report is what came of a Soak.
type Report struct {
	Seed        uint64          `json:"seed"`
	Callers     int             `json:"callers"`
	Elapsed     time.Duration   `json:"elapsed_ns"`
	Interrupted bool            `json:"interrupted"`
	Engines     []*EngineReport `json:"engines"`
	Before      Memory          `json:"before"` // after the first round of every engine
	After       Memory          `json:"after"`
	Violations  []string        `json:"violations"` // must be empty
}

// EngineReport is the sum over the rounds of an engine.
type EngineReport struct {
	Engine      string        `json:"engine"`
	Rounds      int64         `json:"rounds"`
	Operations  int64         `json:"operations"`
	Faults      int64         `json:"faults"`
	Accepted    int64         `json:"accepted"`
	Expired     int64         `json:"expired"`
	Cancelled   int64         `json:"cancelled"`
	Unprocessed int64         `json:"unprocessed"`
	Looks       int64         `json:"looks"`       // at the counts, in the middle of rounds
	MaxLate     time.Duration `json:"max_late_ns"` // what slow tasks, busy processors and pauses cost the latest task
	Violations  []string      `json:"-"`
}

// maxViolations is how many are kept word for word; more say nothing new.
const maxViolations = 100

// check waits for the last tasks, and books the round.
func (r *round) check(into *EngineReport, seen books) {
	violated := func(format string, args ...any) {
		if len(into.Violations) < maxViolations {
			text := fmt.Sprintf(format, args...)
			into.Violations = append(into.Violations, fmt.Sprintf("%s, round %d, seed %d: %s", into.Engine, into.Rounds+1, r.seed, text))
		}
	}
	wait(r.atRest, patience)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.timer.Stats()
	if !r.allHeard(s) {
		violated("%d expired, but %d tasks ran; %d cancelled tasks wanted to be told, %d were; the executor dropped %d",
			s.Expired, r.ran.Load(), r.toTell.Load(), r.told.Load(), r.dropped.Load())
	}
	lost := 0
	for _, e := range r.all {
		if e.ends.Load() == 0 && !(e.timeout.IsExpired() && r.dropped.Load() > 0) {
			lost++
		}
	}
	if lost+int(r.early.Load()+r.twice.Load()) != 0 {
		violated("%d lost, %d early, %d ended twice", lost, r.early.Load(), r.twice.Load())
	}
	if int(s.Accepted) != len(r.all) || s.Pending != 0 || s.Unprocessed != r.unprocessed.Load() ||
		s.Accepted != s.Expired+s.Cancelled+s.Unprocessed {
		violated("the counts do not add up: %d accepted, %d unprocessed, and %+v", len(r.all), r.unprocessed.Load(), s)
	}
	if seen.fault != "" {
		violated("%s", seen.fault)
	}
	r.all = nil // the runtime may hold a stopped timer for long, and with it its error handler
	into.Rounds++
	for i := range r.calls {
		into.Operations += r.calls[i].Load()
	}
	into.Faults += r.faults.Load()
	into.Looks += seen.looks
	into.MaxLate = max(into.MaxLate, time.Duration(r.latest.Load()))
	into.Accepted += s.Accepted
	into.Expired += s.Expired
	into.Cancelled += s.Cancelled
	into.Unprocessed += s.Unprocessed
}

// atRest reports whether all that a stopped timer still does is done: tasks may
// be running, and one of them may be in the Stop that takes what is pending.
func (r *round) atRest() bool {
	s := r.timer.Stats()
	return r.busy.Load() == 0 && s.Pending == 0 && r.unprocessed.Load() == s.Unprocessed && r.allHeard(s)
}

// allHeard reports whether every task ran that expired, and every task was told
// that was cancelled and wants to know, but for as many as the executor dropped.
func (r *round) allHeard(s hwt.Stats) bool {
	notRun, notTold := s.Expired-r.ran.Load(), r.toTell.Load()-r.told.Load()
	return notRun >= 0 && notTold >= 0 && notRun+notTold == r.dropped.Load()
}

// heapSlack is what a heap may differ by for reasons of the runtime's, which may
// hold some stopped timers for long. A timer has parts for each processor, and
// more of them are held where there are more processors.
func heapSlack() int64 { return 128 << 10 * max(int64(runtime.GOMAXPROCS(0)), 16) }

// judge gathers all that is wrong.
func (r *Report) judge() {
	r.Violations = []string{}
	for _, e := range r.Engines {
		r.Violations = append(r.Violations, e.Violations...)
	}
	if r.After.Goroutines > r.Before.Goroutines {
		r.Violations = append(r.Violations, fmt.Sprintf("goroutines: %d before, %d after", r.Before.Goroutines, r.After.Goroutines))
	}
	if r.After.Heap > r.Before.Heap+heapSlack() {
		r.Violations = append(r.Violations, fmt.Sprintf("heap: %d bytes before, %d after", r.Before.Heap, r.After.Heap))
	}
}

// Err says whether anything is wrong. To be interrupted is no fault.
func (r *Report) Err() error {
	if len(r.Violations) == 0 {
		return nil
	}
	return fmt.Errorf("%d violations, the first: %s", len(r.Violations), r.Violations[0])
}

// Text returns the report for people.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Soaked for %s with %d callers, seed %d.\n", human.Duration(r.Elapsed), r.Callers, r.Seed)
	if r.Interrupted {
		b.WriteString("It was interrupted.\n")
	}
	const row = "  %-13s %8s %13s %10s %12s %12s %12s %13s %9s\n"
	fmt.Fprintf(&b, "\n"+row, "engine", "rounds", "operations", "faults", "accepted", "= expired", "+ cancelled", "+ unprocessed", "max late")
	looks := int64(0)
	for _, e := range r.Engines {
		fmt.Fprintf(&b, row, e.Engine, human.Count(e.Rounds), human.Count(e.Operations), human.Count(e.Faults),
			human.Count(e.Accepted), human.Count(e.Expired), human.Count(e.Cancelled), human.Count(e.Unprocessed), human.Duration(e.MaxLate))
		looks += e.Looks
	}
	fmt.Fprintf(&b, "\ncounts      looked at %s times in the middle of rounds, and after each\n", human.Count(looks))
	fmt.Fprintf(&b, "heap        %s bytes before, %s after\n", human.Count(r.Before.Heap), human.Count(r.After.Heap))
	fmt.Fprintf(&b, "goroutines  %d before, %d after\n", r.Before.Goroutines, r.After.Goroutines)
	fmt.Fprintf(&b, "violations  %d\n", len(r.Violations))
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "  %s\n", v)
	}
	return b.String()
}
