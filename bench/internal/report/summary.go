package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/internal/cli"
)

// The lines around a table in a document.
const (
	summaryBegin = "<!-- summary, written by go -C bench run . page -->\n"
	summaryEnd   = "<!-- end of summary -->\n"
)

// column is a metric of a case, with a million timeouts.
type column struct {
	head   string
	c      spec.Spec
	metric metric
	ratio  bool // a multiple of the base's
}

// columns are those of the summary. The README has the first of them.
var (
	columns = []column{
		{"CPU: schedule, cancel", spec.Spec{Measure: spec.Cancel, Producers: 1, Pending: 1e6}, cpu, true},
		{"CPU: expire", spec.Spec{Measure: spec.Expire, N: 1e6}, cpu, true},
		{"lateness p99, ms", spec.Spec{Measure: spec.Expire, N: 1e6}, p99, false},
		{"heap each, bytes", spec.Spec{Measure: spec.Heap, Pending: 1e6}, heap, false},
		{"GC cycle, ms", spec.Spec{Measure: spec.Heap, Pending: 1e6}, cycle, false},
		{"CPU: reset each, expire", spec.Spec{Measure: spec.ResetAll, Pending: 1e6}, cpu, true},
	}
	readmeColumns = columns[:4]
)

// readmeEngines are the rows of the README, with their names there.
var readmeEngines = map[string]string{
	"AfterFunc":  "`time.AfterFunc`",
	"RussellLuo": "RussellLuo/timingwheel",
	"antlabs":    "antlabs/timer",
	"Netty":      "Netty 4.1 on a JVM",
}

// summary returns the table of the page.
func summary(r *results.Results) table {
	return summaryOf(r, columns, func(k engines.Kind) string { return label(r, k) })
}

// readmeSummary returns the table of the README.
func readmeSummary(r *results.Results) table {
	return summaryOf(r, readmeColumns, func(k engines.Kind) string {
		if k.Name == base(r).Name {
			return "**`" + k.Name + "`**"
		}
		return readmeEngines[k.Name]
	})
}

// summaryOf returns a table of the engines with a name and at least one value.
func summaryOf(r *results.Results, columns []column, name func(engines.Kind) string) table {
	t := table{head: []string{"engine"}}
	columns = slices.DeleteFunc(slices.Clone(columns), func(col column) bool { return !col.known(r) })
	for _, col := range columns {
		t.head = append(t.head, col.head)
	}
	t.head = append(t.head, "faults")
	for _, k := range r.Engines {
		row, known := []string{name(k)}, false
		for _, col := range columns {
			text := col.text(r, k)
			row, known = append(row, text), known || text != absent
		}
		if row[0] != "" && known {
			t.add(append(row, faultsOf(r, k.Name))...)
		}
	}
	return t
}

// known reports whether any engine has a value.
func (col column) known(r *results.Results) bool {
	return slices.ContainsFunc(r.Engines, func(k engines.Kind) bool { return col.text(r, k) != absent })
}

// text writes the value of an engine.
func (col column) text(r *results.Results, k engines.Kind) string {
	i := slices.IndexFunc(r.Cases(col.c.Measure), func(c spec.Spec) bool {
		return (col.c.Producers == 0 || c.Producers == col.c.Producers) && c.Pending == col.c.Pending && (col.c.N == 0 || c.N == col.c.N)
	})
	if i < 0 {
		return absent
	}
	c := r.Cases(col.c.Measure)[i]
	s, ours := r.Cell(c, k.Name).Summary(col.metric.name), r.Cell(c, base(r).Name).Summary(col.metric.name)
	switch {
	case !s.Known():
		return absent
	case col.ratio && k.Name == base(r).Name:
		return fmt.Sprintf("1 (%s ns)", cli.Number(s.Median))
	case col.ratio:
		return between(s.Over(ours).Low, s.Over(ours).High)
	}
	return between(s.Low, s.High)
}

// between writes a range with two digits.
func between(low, high float64) string {
	a, b := twoDigits(low), twoDigits(high)
	if a == b {
		return a
	}
	return a + "–" + b
}

func twoDigits(v float64) string {
	if v >= 100 {
		return cli.Number(v)
	}
	return fmt.Sprintf("%.2g", v)
}

// faultsOf names the faults of an engine, each with the largest share of timeouts.
func faultsOf(r *results.Results, engine string) string {
	if i := slices.IndexFunc(r.Engines, func(k engines.Kind) bool { return k.Name == engine }); i >= 0 && r.Engines[i].Floor {
		return absent
	}
	var list []string
	for _, fault := range faults {
		if fault.name == spec.EarlyMs {
			continue
		}
		worst := 0.0
		for _, measure := range []string{spec.Correct, spec.Expire} {
			for _, c := range r.Cases(measure) {
				worst = max(worst, r.Cell(c, engine).Max(fault.name)/float64(c.N))
			}
		}
		switch {
		case worst >= 0.01:
			list = append(list, fmt.Sprintf("%.0f %% %s", 100*worst, fault.head))
		case worst > 0:
			list = append(list, "some "+fault.head)
		}
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

// choice returns the table that compares the two wheels, with a row per value.
func choice(r *results.Results) table {
	t := table{head: []string{"a million timeouts", "`hashedwheel`", "`hierarchical`"}}
	for _, col := range []column{
		{"schedule and cancel, CPU, ns", spec.Spec{Measure: spec.Cancel, Producers: 1, Pending: 1e6}, cpu, false},
		{"schedule, CPU, ns", spec.Spec{Measure: spec.Schedule, Producers: 1, Pending: 1e6}, cpu, false},
		{"reset each to an earlier time until the last has run, CPU, ns", spec.Spec{Measure: spec.ResetAll, Pending: 1e6}, cpu, false},
		{"heartbeats, CPU per reset, ns", spec.Spec{Measure: spec.Heartbeats, Pending: 1e6}, cpu, false},
		{"due within one second, CPU, ns", spec.Spec{Measure: spec.Expire, N: 1e6}, cpu, false},
		{"due within one second, lateness p99, ms", spec.Spec{Measure: spec.Expire, N: 1e6}, p99, false},
		{"heap per timeout, bytes", spec.Spec{Measure: spec.Heap, Pending: 1e6}, heap, false},
		{"garbage collection, ms", spec.Spec{Measure: spec.Heap, Pending: 1e6}, cycle, false},
	} {
		if col.known(r) {
			t.add(col.head, col.text(r, engines.Kind{Name: "hashedwheel"}), col.text(r, engines.Kind{Name: "hierarchical"}))
		}
	}
	return t
}

// writeSummary puts the tables into the documents around the page: the README's and the one
// about the choice of an engine.
func writeSummary(r *results.Results, dir string) error {
	return errors.Join(
		replace(filepath.Join(dir, "..", "README.md"), readmeSummary(r)),
		replace(filepath.Join(dir, "engines.md"), choice(r)),
	)
}

// replace replaces the table in a document. It does nothing without the document or a place
// for the table.
func replace(file string, t table) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	before, rest, _ := strings.Cut(string(text), summaryBegin)
	_, after, found := strings.Cut(rest, summaryEnd)
	if err != nil || !found {
		return err
	}
	return os.WriteFile(file, []byte(before+summaryBegin+"\n"+t.String()+"\n"+summaryEnd+after), 0o644)
}
