package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// absent stands for a missing value.
const absent = "–"

// table is a table in Markdown. The first column holds text, the others numbers, unless
// all columns are text.
type table struct {
	head []string
	rows [][]string
	text bool
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// Empty reports whether the table has no rows.
func (t table) Empty() bool { return len(t.rows) == 0 }

func (t table) String() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = "--:"
		if t.text || i == 0 {
			rule[i] = ":--"
		}
	}
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}

// Tables writes a table per case of the named measurements, or of all without names.
func Tables(w io.Writer, r *results.Results, names []string) error {
	for _, m := range measurements {
		if len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		for _, c := range r.Cases(m.name) {
			if _, err := fmt.Fprintf(w, "%s: %s\n%s\n\n%s\n", m.title, c.Conditions(), m.text, caseTable(r, m, c)); err != nil {
				return err
			}
		}
	}
	return nil
}

// caseTable has a row per engine and a column per metric.
func caseTable(r *results.Results, m measurement, c spec.Spec) table {
	t := table{head: []string{"engine"}}
	for _, metric := range m.metrics {
		t.head = append(t.head, metric.head)
	}
	for _, k := range r.Engines {
		cell := r.Cell(c, k.Name)
		if cell == nil {
			continue
		}
		row := []string{label(r, k)}
		for _, metric := range m.metrics {
			text := number(cell.Summary(metric.name))
			if cell.Failure != "" {
				text, _, _ = strings.Cut(cell.Failure, ":")
			}
			row = append(row, text)
		}
		t.add(row...)
	}
	return t
}

// base returns the engine that all others are compared with: the first of ours.
func base(r *results.Results) engines.Kind {
	for _, k := range r.Engines {
		if k.Ours {
			return k
		}
	}
	return engines.Kind{}
}

// label writes an engine's name, ours in bold, and marks an engine with faults.
func label(r *results.Results, k engines.Kind) string {
	name := k.Name
	if k.Ours {
		name = "**" + name + "**"
	}
	if faulty(r, k.Name) {
		name += " ‡"
	}
	return name
}
