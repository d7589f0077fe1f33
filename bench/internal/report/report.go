// Package report writes the results as a page, tables, and plots.
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
	"github.com/hashedwheel/hwt/internal/cli"
)

// Write writes benchmarks.md and the plots to a folder, and tables into the documents around
// it.
func Write(r *results.Results, dir string) error {
	drawn, err := drawAll(r, dir)
	if err != nil {
		return err
	}
	text, err := render(r, drawn)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "benchmarks.md"), []byte(text), 0o644); err != nil {
		return err
	}
	return writeSummary(r, dir)
}

//go:embed page.md.tmpl
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// view is the data of the template.
type view struct {
	*results.Results
	Memory                       string
	Base                         engines.Kind
	Summary, Losses, Correctness table
	Plots                        []drawing
	Names                        string
}

// render returns the page.
func render(r *results.Results, drawn []drawing) (string, error) {
	var b strings.Builder
	err := page.Execute(&b, view{
		Results: r, Memory: cli.Number(float64(r.Machine.Memory) / (1 << 30)), Base: base(r),
		Summary: summary(r), Losses: losses(r), Correctness: correctness(r), Plots: drawn,
		Names: strings.Join(spec.Measurements, ", "),
	})
	return b.String(), err
}

// correctness returns a table of the engines' configurations and faults.
func correctness(r *results.Results) table {
	t := table{head: []string{"engine", "package", "configuration", "faults"}, text: true}
	for _, k := range r.Engines {
		t.add(label(r, k), k.Package, k.Setting, faultsOf(r, k.Name))
	}
	return t
}
