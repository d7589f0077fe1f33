package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
	Engines []string // empty: all
	Rounds  int
	Command string
	File    string // holds the results so far, for a run that continues; "" for none
	Log     io.Writer
}

// runner is one run of the comparison.
type runner struct {
	options   Options
	self      string                      // this program
	harnesses map[string]*foreign.Harness // of foreign engines, by name
	programs  map[string]string           // this program, built with other Go releases
	results   *results.Results
	sample    func(context.Context, spec.Spec) (spec.Sample, error)
}

// Run measures. If ctx ends, Run returns its error, and the same call with the same File
// continues.
func Run(ctx context.Context, o Options) (*results.Results, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &runner{options: o, self: self, harnesses: make(map[string]*foreign.Harness), programs: make(map[string]string)}
	r.sample = func(ctx context.Context, s spec.Spec) (spec.Sample, error) {
		return inChild(ctx, r.command(s), r.environment(), limit(s))
	}
	r.results = &results.Results{
		Machine: results.ThisMachine(), Commit: results.Commit(), Command: o.Command,
		Date: time.Now().UTC().Truncate(time.Second), Quick: o.Quick, Rounds: o.Rounds,
	}
	r.choose()
	defer r.close()
	r.plan()
	if len(r.results.Cells) == 0 {
		return nil, errors.New("no measurement is left: none of these engines has any of these measurements")
	}
	return r.results, r.measure(ctx)
}

// choose selects the engines that can run here.
func (r *runner) choose() {
	for _, k := range engines.All() {
		if len(r.options.Engines) > 0 && !slices.Contains(r.options.Engines, k.Name) {
			continue
		}
		if k.Foreign {
			harness, err := foreign.New(k.Name)
			if err != nil {
				r.results.Notes = append(r.results.Notes, fmt.Sprintf("%s was left out: %v.", k.Name, err))
				continue
			}
			r.harnesses[k.Name], k.Version = harness, harness.Version
		}
		if !k.Foreign && !k.Ours && !k.Floor {
			k.Version = version(k.Package)
		}
		if k.Release != "" {
			if err := r.build(k.Release); err != nil {
				r.results.Notes = append(r.results.Notes, fmt.Sprintf("%s was left out: %v.", k.Name, err))
				continue
			}
		}
		r.results.Engines = append(r.results.Engines, k)
	}
}

// version returns the version of a package's module and its date, or "" if it is not known.
func version(pkg string) string {
	out, err := exec.Command("go", "list", "-f", `{{with .Module}}{{.Version}}, {{.Time.Format "2006-01-02"}}{{end}}`, pkg).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// build builds this program with another Go release.
func (r *runner) build(release string) error {
	if r.programs[release] != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "hwt-bench-")
	if err != nil {
		return err
	}
	program := filepath.Join(dir, release)
	r.programs[release] = program
	cmd := exec.Command("go", "build", "-o", program, "github.com/hashedwheel/hwt/bench")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+release)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (r *runner) close() {
	for _, harness := range r.harnesses {
		harness.Close()
	}
	for _, program := range r.programs {
		os.RemoveAll(filepath.Dir(program))
	}
}

// plan adds the cells to the results.
func (r *runner) plan() {
	size := full
	if r.options.Quick {
		size = quick
	}
	cases := slices.DeleteFunc(size.cases(), func(c spec.Spec) bool { return len(r.options.Only) > 0 && !slices.Contains(r.options.Only, c.Measure) })
	for _, s := range specs(cases, r.results.Engines) {
		r.results.Cells = append(r.results.Cells, &results.Cell{Spec: s})
	}
}

// measure fills the cells, round by round. It skips the samples of an interrupted run,
// and cells that failed.
func (r *runner) measure(ctx context.Context) error {
	if r.options.File != "" {
		if strings.HasSuffix(r.results.Commit, "-dirty") {
			return fmt.Errorf("commit %s: the working tree has changes (expected: a commit that the results can name)", r.results.Commit)
		}
		if err := r.results.Resume(r.options.File); err != nil {
			return err
		}
	}
	before, began, missing := r.results.Took, time.Now(), r.missing()
	for i, cell := range missing {
		if cell.Failure != "" {
			continue
		}
		left := "?"
		if i > 0 {
			left = (time.Since(began) / time.Duration(i) * time.Duration(len(missing)-i)).Round(time.Minute).String()
		}
		fmt.Fprintf(r.options.Log, "%4d of %d  round %d  %v  (%s left)\n", i+1, len(missing), cell.Rounds()+1, cell.Spec, left)
		sample, err := r.sample(ctx, cell.Spec)
		if err != nil {
			return err
		}
		if sample.Failure != "" {
			fmt.Fprintf(r.options.Log, "%v: %s\n", cell.Spec, sample.Failure)
		}
		cell.Add(sample)
		r.results.Took = (before + time.Since(began)).Round(time.Second)
		if r.options.File != "" {
			if err := r.results.Write(r.options.File); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing returns the cells of all samples still to be taken, in order.
func (r *runner) missing() (list []*results.Cell) {
	for round := range r.options.Rounds {
		for _, cell := range inTurn(r.results.Cells, round) {
			if cell.Rounds() <= round && (round == 0 || !cell.Spec.CountsFaults()) {
				list = append(list, cell)
			}
		}
	}
	return list
}

// inTurn returns the cells in the order of a round. Every second round reverses the
// engines of each case, so no engine always follows the same other one.
func inTurn(cells []*results.Cell, round int) []*results.Cell {
	cells = slices.Clone(cells)
	if round%2 == 0 {
		return cells
	}
	for from, i := 0, 1; i <= len(cells); i++ {
		if i == len(cells) || cells[i].Case() != cells[from].Case() {
			slices.Reverse(cells[from:i])
			from = i
		}
	}
	return cells
}

// command returns the command line that measures s.
func (r *runner) command(s spec.Spec) []string {
	if harness := r.harnesses[s.Engine]; harness != nil {
		return harness.Command(s)
	}
	program := r.self
	if name, release, other := strings.Cut(s.Engine, "+go1."); other {
		s.Engine, program = name, r.programs["go1."+release]
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // plain data
	}
	return []string{program, "-child", string(text)}
}

// environment keeps a greedy child from exhausting the memory.
func (r *runner) environment() []string {
	if r.results.Machine.Memory == 0 { // unknown
		return nil
	}
	return []string{fmt.Sprintf("GOMEMLIMIT=%d", r.results.Machine.Memory*8/10)}
}
