// Package report writes the results as a page and tables.
package report

import (
	"cmp"
	_ "embed"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/internal/cli"
)

// Write writes benchmarks.md to a folder, and tables into the documents around it.
func Write(r *results.Results, dir string) error {
	text, err := render(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "benchmarks.md"), []byte(text), 0o644); err != nil {
		return err
	}
	return writeSummary(r, dir)
}

// Part writes the tables of a run of some measurements.
func Part(w io.Writer, r *results.Results) error {
	return errors.Join(page.ExecuteTemplate(w, "part", viewOf(r)), Tables(w, r, nil))
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
	Newer                        []string
	Names                        string
}

// render returns the page.
func render(r *results.Results) (string, error) {
	var b strings.Builder
	err := page.Execute(&b, viewOf(r))
	return b.String(), err
}

func viewOf(r *results.Results) view {
	return view{
		Results: r, Memory: cli.Number(float64(r.Machine.Memory) / (1 << 30)), Base: base(r),
		Summary: summary(r), Losses: losses(r), Correctness: correctness(r),
		Names: strings.Join(spec.Measurements, ", "), Newer: newer(r),
	}
}

// correctness returns a table of the engines' configurations and faults.
func correctness(r *results.Results) table {
	t := table{head: []string{"engine", "package", "version", "configuration", "faults"}, text: true}
	for _, k := range r.Engines {
		t.add(label(r, k), k.Package, cmp.Or(k.Version, absent), k.Setting, faultsOf(r, k.Name))
	}
	return t
}

// newer returns a sentence per engine with a design that the measured version does not have.
func newer(r *results.Results) (sentences []string) {
	for _, k := range r.Engines {
		if k.Newer != "" {
			sentences = append(sentences, k.Newer)
		}
	}
	return sentences
}
