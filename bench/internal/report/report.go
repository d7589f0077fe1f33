// Package report writes what was measured as a page and as plots.
package report

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
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
	Base        engines.Kind
	Sections    []section
	Compared    int
	Behind      []string
	Level       int
	Floor       []floorLine
	Floors      table
	Correctness string // the table, or empty
	Growth      string // the plot, or empty
}

// section is one measurement.
type section struct {
	Title, Text, Plot string
	Parts             []part
	Marked            bool // an engine in it has no reset
}

// part is one table of a section.
type part struct {
	Title string
	Table table
}

// floorLine is one part of the floor.
type floorLine struct{ Title, Figure string }

// render returns the page. Plots that were not drawn are not shown.
func render(r *results.Results, drawn map[string]bool) (string, error) {
	v := view{Results: r, Base: base(r), Behind: behind(r), Level: level(r), Floor: floor(r), Floors: floors(r), Correctness: correctness(r)}
	_, v.Compared = losses(r)
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

// newSection returns the section of a measurement, if it was made.
func newSection(r *results.Results, m measurement) (section, bool) {
	s := section{Title: m.title, Text: m.text, Plot: m.plot}
	cases := r.Cases(m.measure)
	for _, metric := range withLeast(m) {
		for _, group := range byProducers(cases) {
			if !some(r, group, metric.name) {
				continue
			}
			title := metric.title + ", " + metric.unit
			if group[0].Producers > 1 {
				title += ", by two producers"
			}
			s.Parts = append(s.Parts, part{title, grid(r, m, metric.name, group)})
		}
	}
	for _, k := range r.Engines {
		s.Marked = s.Marked || mark(m, k) != ""
	}
	return s, len(s.Parts) > 0
}

// withLeast returns the metrics to show: for expiry the least lateness as well,
// in which less is not better.
func withLeast(m measurement) []metric {
	if m.measure != spec.Expire {
		return m.metrics
	}
	return append([]metric{m.metrics[0], {spec.Early, "ran early", "timeouts", 1}, {spec.LateMin, "late, min", "ms", 0}}, m.metrics[1:]...)
}

// byProducers parts cases by their producers, to keep tables narrow.
func byProducers(cases []spec.Spec) (groups [][]spec.Spec) {
	for _, c := range cases {
		if n := len(groups); n == 0 || groups[n-1][0].Producers != c.Producers {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], c)
	}
	return groups
}

// floor returns the lines of the floor.
func floor(r *results.Results) (lines []floorLine) {
	for _, c := range r.Cases(spec.Floor) {
		cell := r.Cell(c, "")
		add := func(title, metric string) {
			lines = append(lines, floorLine{title, figureOf(cell, cell.Summary(metric))})
		}
		add("one allocation of 48 bytes", spec.AllocNs)
		add("one reading of the clock", spec.ClockNs)
		add("one atomic swap", spec.SwapNs)
		add("all three in one loop: the floor", spec.CPUNs)
	}
	return lines
}
