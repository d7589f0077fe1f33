package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/foreign"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// Options are the settings of a run.
type Options struct {
	Quick   bool
	Only    []string // measurements; empty: all
	Rows    []string // texts one of which the description of a measurement must hold; empty: all
	Engines []string // empty: all
	Rounds  int
	Wait    time.Duration // for a quiet machine; 0: do not wait
	Steady  bool          // measure again while what the floor moved
	Command string
	Log     io.Writer        // progress and messages
	Before  *results.Results // of an interrupted run of the same code, to go on with; nil: none
}

// Measurements are the names that Options.Only knows.
var Measurements = []string{
	spec.Floor, spec.Schedule, spec.Cancel, spec.ResetLater, spec.ResetEarlier, spec.ResetAll, spec.Heartbeats,
	spec.Heap, spec.Expire, spec.Burst, spec.Idle, spec.Deadlines, spec.Goroutines,
	spec.FullSpeed, spec.ShortLived, spec.ResetStorm, spec.LongTick, spec.Sustained, spec.Saturated, spec.Trickle,
	spec.Correct, spec.Moved,
}

// wasInterrupted begins the note of a run that lacks something.
const wasInterrupted = "The run was interrupted"

// runner is one run of the comparison.
type runner struct {
	options   Options
	self      string                      // this program
	harnesses map[string]*foreign.Harness // of foreign engines, by name
	results   *results.Results
	load      func() (load float64, known bool) // of the machine
	sample    func(context.Context, spec.Spec) (spec.Sample, error)
}

// Run measures what the options say. If ctx ends meanwhile, it returns what was measured,
// if anything, with the error.
func Run(ctx context.Context, o Options) (*results.Results, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &runner{options: o, self: self, harnesses: make(map[string]*foreign.Harness), load: results.Load}
	r.sample = r.inChild
	r.results = &results.Results{Commit: results.Commit(), Command: o.Command, Quick: o.Quick}
	r.choose()
	defer r.close()
	if err := r.waitForQuiet(ctx, o.Wait); err != nil {
		return nil, err
	}
	r.results.Machine, r.results.Date = results.ThisMachine(), time.Now().UTC().Truncate(time.Second)
	r.plan()
	if err := r.goOn(); err != nil {
		return nil, err
	}
	began := time.Now()
	err = r.measure(ctx)
	if err != nil && len(r.results.Rounds) == 0 {
		return nil, err
	}
	if err != nil {
		r.note(fmt.Sprintf("%s in round %d.", wasInterrupted, len(r.results.Rounds)))
	}
	r.results.Took += time.Since(began).Round(time.Second)
	return r.results, err
}

// choose fills in the engines, and leaves out those that cannot run here.
func (r *runner) choose() {
	for _, k := range engines.All() {
		if len(r.options.Engines) > 0 && !slices.Contains(r.options.Engines, k.Name) {
			continue
		}
		if k.Foreign {
			harness, err := foreign.New(k.Name)
			if err != nil {
				r.note(fmt.Sprintf("%s was left out: %v.", k.Name, err))
				continue
			}
			r.harnesses[k.Name], k.Version = harness, harness.Version
		}
		r.results.Engines = append(r.results.Engines, k)
	}
}

func (r *runner) close() {
	for _, harness := range r.harnesses {
		harness.Close()
	}
}

// note records what the page must say, and logs it.
func (r *runner) note(text string) {
	r.results.Notes = append(r.results.Notes, text)
	r.log(text)
}

func (r *runner) log(format string, args ...any) { fmt.Fprintf(r.options.Log, format+"\n", args...) }

// plan adds the cells to fill to the results.
func (r *runner) plan() {
	size := full
	if r.options.Quick {
		size = quick
	}
	size, notes := size.without(results.MemoryAvailable())
	for _, text := range notes {
		r.note(text)
	}
	cases := slices.DeleteFunc(size.cases(), func(c spec.Spec) bool { return !r.wanted(c) })
	if slow := r.slow(cases); len(slow) > 0 {
		r.note(strings.Join(slow, ", ") + ": left out at 10,000,000 pending, since it takes too long to schedule them.")
	}
	for _, s := range specs(cases, r.results.Engines) {
		r.results.Cells = append(r.results.Cells, &results.Cell{Spec: s})
	}
}

// slow returns the engines that are left out of some of the cases.
func (r *runner) slow(cases []spec.Spec) (names []string) {
	if !slices.ContainsFunc(cases, func(c spec.Spec) bool { return c.Pending > mostForSlow }) {
		return nil
	}
	for _, k := range r.results.Engines {
		if k.Slow {
			names = append(names, k.Name)
		}
	}
	return names
}

// wanted reports whether the options ask for a case.
func (r *runner) wanted(c spec.Spec) bool {
	o, text := r.options, c.String()
	return (len(o.Only) == 0 || slices.Contains(o.Only, c.Measure)) &&
		(len(o.Rows) == 0 || slices.ContainsFunc(o.Rows, func(row string) bool { return strings.Contains(text, row) }))
}

// inChild measures s in a process of its own.
func (r *runner) inChild(ctx context.Context, s spec.Spec) (spec.Sample, error) {
	return inChild(ctx, r.command(s), r.environment(), limit(s))
}

// command returns the command line that measures s.
func (r *runner) command(s spec.Spec) []string {
	if harness := r.harnesses[s.Engine]; harness != nil {
		return harness.Command(s)
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // plain data
	}
	return []string{r.self, "--child", string(text)}
}

// environment keeps a greedy child from being killed for its memory.
func (r *runner) environment() []string {
	if r.results.Machine.Memory == 0 { // not known
		return nil
	}
	return []string{fmt.Sprintf("GOMEMLIMIT=%d", r.results.Machine.Memory*8/10)}
}

// CheckOnly returns an error if a name is no measurement.
func CheckOnly(names []string) error {
	for _, name := range names {
		if !slices.Contains(Measurements, name) {
			return fmt.Errorf("no measurement %q (known: %s)", name, strings.Join(Measurements, ", "))
		}
	}
	return nil
}
