// Package report writes what was measured as a page and as plots.
package report

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
)

// Write writes benchmarks.md and the plots to a folder.
func Write(r *results.Results, dir string) error {
	drawn, err := drawAll(r, dir)
	if err != nil {
		return err
	}
	text, err := render(r, drawn)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "benchmarks.md"), []byte(text), 0o644)
}

//go:embed page.md.tmpl
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// view is what the template shows.
type view struct {
	*results.Results
	Memory      string
	RoundsTold  string
	Base        engines.Kind
	Lines       table // the engines
	Sections    []section
	Compared    int
	Behind      []string // lost in every round
	Hints       []string // lost in the only round
	Level       int
	Floor       []floorLine
	Floors      table
	Correctness []part
	Glossary    []meaning
	Foreign     bool   // an engine in it is not in Go
	Growth      string // the plot, or empty
}

// render returns the page. Plots that were not drawn are not shown.
func render(r *results.Results, drawn map[string]bool) (string, error) {
	lost, compared := losses(r)
	v := view{
		Results: r, RoundsTold: roundsTold(r), Base: base(r), Lines: lines(r), Compared: compared,
		Behind: behind(r, clear), Hints: behind(r, hinted), Level: level.count(lost),
		Floor: floor(r), Floors: floors(r), Correctness: correctness(r), Glossary: glossary(),
		Foreign: slices.ContainsFunc(r.Engines, func(k engines.Kind) bool { return k.Foreign }),
	}
	if r.Machine.Memory > 0 {
		v.Memory = number(float64(r.Machine.Memory) / (1 << 30))
	}
	if drawn[growthPlot] {
		v.Growth = growthPlot
	}
	for _, m := range measurements {
		if s, ok := newSection(r, m); ok {
			if !drawn[s.Plot] {
				s.Plot = ""
			}
			v.Sections = append(v.Sections, s)
		}
	}
	var b strings.Builder
	err := page.Execute(&b, v)
	return b.String(), err
}

// Less reports whether less than everything was measured, which needs --out to
// be repeated.
func (v view) Less() bool { return strings.Contains(v.Command, "--") }

// roundsTold says how many rounds there were: what takes very long is measured
// in fewer.
func roundsTold(r *results.Results) string {
	most := make(map[int]int) // by what is pending
	for _, cell := range r.Cells {
		most[cell.Spec.Pending] = max(most[cell.Spec.Pending], len(cell.Samples))
	}
	text := strconv.Itoa(r.Rounds)
	for _, n := range slices.Sorted(maps.Keys(most)) {
		if most[n] < r.Rounds {
			text += fmt.Sprintf("; %d with %s", most[n], pending(n))
		}
	}
	return text
}

// lines returns the table of the engines.
func lines(r *results.Results) table {
	t := table{head: []string{"engine", "package", "version", "setting", "why that", "a task runs"}, text: true}
	for _, k := range r.Engines {
		version := k.Version
		switch {
		case version != "":
		case k.Ours:
			version = "this commit"
		default:
			version = r.Machine.Go
		}
		t.rows = append(t.rows, []string{label(k), k.Package, version, k.Setting, abouts[k.Name].why, abouts[k.Name].tasks})
	}
	return t
}
