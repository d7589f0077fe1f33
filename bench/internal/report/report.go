// Package report writes what was measured as tables and plots.
package report

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/internal/cli"
)

// Write writes benchmarks.md and the plots to a folder, and the summary to the
// README beside it.
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

// Tables writes the tables of the measurements and no more.
func Tables(w io.Writer, r *results.Results) error {
	for _, s := range append(sections(r), section{Title: "Correctness", Tables: correctness(r)}) {
		for _, t := range s.Tables {
			if _, err := fmt.Fprintf(w, "%s: %s\n\n%s\n", s.Title, t.Title, t.Table); err != nil {
				return err
			}
		}
	}
	return nil
}

//go:embed page.md.tmpl
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"caption": func(plot string) string { return captions[plot] }}).Parse(pageText))

// view is what the template shows.
type view struct {
	*results.Results
	Memory      string
	Base        engines.Kind
	Lines       table // the engines
	Losses      table
	Correctness []titled
	Failures    table
	Sections    []section
	Floors      table
	FloorParts  table
	Growth      string // the plot, or empty
}

// render returns the page with the plots that were drawn.
func render(r *results.Results, drawn []string) (string, error) {
	v := view{
		Results: r, Memory: cli.Number(float64(r.Machine.Memory) / (1 << 30)), Base: base(r), Lines: lines(r),
		Losses: losses(r), Correctness: correctness(r), Failures: failures(r), Sections: sections(r),
		Floors: floors(r), FloorParts: floorParts(r),
	}
	if slices.Contains(drawn, growthPlot) {
		v.Growth = growthPlot
	}
	for i, s := range v.Sections {
		if !slices.Contains(drawn, s.Plot) {
			v.Sections[i].Plot = ""
		}
	}
	var b strings.Builder
	err := page.Execute(&b, v)
	return b.String(), err
}

// lines returns the table of the engines.
func lines(r *results.Results) table {
	t := table{head: []string{"engine", "package", "version", "setting", "tasks run"}, text: true}
	for _, k := range r.Engines {
		version := k.Version
		switch {
		case version != "":
		case k.Ours:
			version = "this commit"
		default:
			version = r.Machine.Go
		}
		t.add(label(r, k), k.Package, version, k.Setting, k.Tasks)
	}
	return t
}
