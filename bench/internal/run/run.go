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
	"github.com/hashedwheel/hwt/bench/internal/netty"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// Options are what the command line says.
type Options struct {
	Quick   bool
	Only    []string // measurements; empty: all
	Engines []string // empty: all
	Rounds  int
	Command string
	Log     io.Writer // progress and messages
}

// Measurements are the names that Options.Only knows.
var Measurements = []string{
	spec.Floor, spec.Schedule, spec.Cancel, spec.ResetLater, spec.ResetEarlier, spec.ResetAll, spec.Heartbeats,
	spec.Heap, spec.Expire, spec.Idle, spec.Deadlines, spec.Goroutines, spec.Correct, spec.Moved,
}

// runner is one run of the comparison.
type runner struct {
	options Options
	self    string // this program
	netty   *netty.Harness
	results *results.Results
}

// Run measures what the options say. If ctx ends when a round is complete, it
// returns what was measured with the error.
func Run(ctx context.Context, o Options) (*results.Results, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &runner{options: o, self: self, results: &results.Results{
		Machine: results.ThisMachine(), Commit: results.Commit(), Command: o.Command,
		Date: time.Now().UTC().Truncate(time.Second), Rounds: o.Rounds, Quick: o.Quick,
	}}
	if err := r.choose(); err != nil {
		return nil, err
	}
	if r.netty != nil {
		defer r.netty.Close()
	}
	err = r.measure(ctx, r.plan())
	if err != nil && !r.results.Whole() {
		return nil, err
	}
	if err != nil {
		r.note("The run was interrupted: not all figures have as many rounds.")
	}
	r.results.Took = time.Since(r.results.Date).Round(time.Second)
	return r.results, err
}

// choose fills in the engines, and leaves out those that cannot run here.
func (r *runner) choose() error {
	for _, name := range r.options.Engines {
		if _, err := engines.Find(name); err != nil {
			return err
		}
	}
	for _, k := range engines.All() {
		if len(r.options.Engines) > 0 && !slices.Contains(r.options.Engines, k.Name) {
			continue
		}
		if k.Foreign {
			harness, err := netty.New()
			if err != nil {
				r.note(fmt.Sprintf("%s was left out: %v.", k.Name, err))
				continue
			}
			r.netty, k.Version = harness, harness.Version
		}
		r.results.Engines = append(r.results.Engines, k)
	}
	return nil
}

// note records what was left out, and tells.
func (r *runner) note(text string) {
	r.results.Notes = append(r.results.Notes, text)
	fmt.Fprintln(r.options.Log, text)
}

// plan returns the cells to fill, which it adds to the results.
func (r *runner) plan() []*results.Cell {
	size := full
	if r.options.Quick {
		size = quick
	}
	size, notes := size.without(results.MemoryAvailable())
	for _, text := range notes {
		r.note(text)
	}
	cases := size.cases()
	if len(r.options.Only) > 0 {
		cases = slices.DeleteFunc(cases, func(c spec.Spec) bool { return !slices.Contains(r.options.Only, c.Measure) })
	}
	for _, k := range r.results.Engines {
		if k.Slow && slices.ContainsFunc(cases, func(c spec.Spec) bool { return c.Pending > mostForSlow }) {
			r.note(k.Name + " was left out at 10,000,000 pending: to be filled with them takes it too long.")
		}
	}
	for _, s := range specs(cases, r.results.Engines) {
		r.results.Cells = append(r.results.Cells, &results.Cell{Spec: s})
	}
	return r.results.Cells
}

// measure fills the cells, round by round. What failed is not tried again, nor on
// another background.
func (r *runner) measure(ctx context.Context, cells []*results.Cell) error {
	progress := newProgress(r.options.Log, cells, r.options.Rounds)
	defer progress.end()
	for round := range r.options.Rounds {
		for _, cell := range inTurn(cells, round) {
			if round >= rounds(cell.Spec, r.options.Rounds) || cell.Failure() != "" {
				continue
			}
			if failure := r.failed(cell.Spec); failure != "" {
				cell.Samples = append(cell.Samples, spec.Sample{Failure: failure})
				progress.skip(cell)
				continue
			}
			progress.begin(round, cell.Spec)
			began := time.Now()
			sample, err := inChild(ctx, r.command(cell.Spec), r.environment(), limit(cell.Spec))
			if err != nil {
				return err
			}
			cell.Samples = append(cell.Samples, sample)
			progress.done(cell, time.Since(began))
		}
	}
	return nil
}

// inTurn returns the cells in the order of a round: there and back, so that no
// engine always comes after the same one.
func inTurn(cells []*results.Cell, round int) []*results.Cell {
	if round%2 == 1 {
		cells = slices.Clone(cells)
		slices.Reverse(cells)
	}
	return cells
}

// failed returns how the same operation failed on a smaller background: it would
// only take its time to fail again.
func (r *runner) failed(s spec.Spec) string {
	for _, cell := range r.results.Cells {
		c := cell.Spec
		if c.Measure == s.Measure && c.Engine == s.Engine && c.Producers == s.Producers && c.Pending < s.Pending {
			if failure := cell.Failure(); failure != "" {
				return failure
			}
		}
	}
	return ""
}

// command returns the command line that measures s.
func (r *runner) command(s spec.Spec) []string {
	if r.netty != nil && s.Engine != "" {
		if k, err := engines.Find(s.Engine); err == nil && k.Foreign {
			return r.netty.Command(s)
		}
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
