package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/internal/cli"
)

// The lines around the summary in a README.
const (
	summaryBegin = "<!-- summary, written by go -C bench run . -->\n"
	summaryEnd   = "<!-- end of summary -->\n"
)

// summarised are the rivals of the summary.
var summarised = map[string]string{
	"AfterFunc":  "`time.AfterFunc`",
	"RussellLuo": "RussellLuo/timingwheel",
	"antlabs":    "antlabs/timer",
	"Netty":      "Netty 4.1 on a JVM",
}

// summaryColumns are what the summary shows, all of it with a million timeouts.
var summaryColumns = []column{
	{head: "CPU: schedule, cancel", c: spec.Spec{Measure: spec.Cancel, Producers: 1, Pending: 1e6}, metric: cpu},
	{head: "CPU: expire", c: spec.Spec{Measure: spec.Expire, N: 1e6}, metric: cpu},
	{head: "late, p99, ms", c: spec.Spec{Measure: spec.Expire, N: 1e6}, metric: p99},
	{head: "heap each, bytes", c: spec.Spec{Measure: spec.Heap, Pending: 1e6}, metric: heap},
}

// summary returns a table of a few engines and figures. It shows CPU time as a
// multiple of our base's.
func summary(r *results.Results) table {
	t := table{head: []string{"engine"}}
	for _, col := range summaryColumns {
		t.head = append(t.head, col.head)
	}
	t.head = append(t.head, "wrong")
	for _, k := range r.Engines {
		name := summarised[k.Name]
		if k.Name == base(r).Name {
			name = "**`" + k.Name + "`**"
		}
		if name == "" {
			continue
		}
		row := []string{name}
		for _, col := range summaryColumns {
			row = append(row, summaryFigure(r, col, k))
		}
		t.add(append(row, wrongs(r, k.Name))...)
	}
	return t
}

func summaryFigure(r *results.Results, col column, k engines.Kind) string {
	for _, c := range r.Cases(col.c.Measure) {
		if c.Producers != col.c.Producers && col.c.Producers != 0 || c.Pending != col.c.Pending || c.N != col.c.N && col.c.N != 0 {
			continue
		}
		s := r.Cell(c, k.Name).Summary(col.metric.name)
		switch {
		case col.metric.name == spec.CPUNs:
			return ratio(s, r.Cell(c, base(r).Name).Summary(col.metric.name))
		case s.Known():
			return cli.Number(s.Median)
		}
	}
	return absent
}

// wrongs names the faults of an engine, each with the largest share of timeouts
// that had it.
func wrongs(r *results.Results, engine string) string {
	var list []string
	for _, fault := range faults {
		if fault.name == spec.EarlyMs {
			continue
		}
		worst := 0.0
		for _, measure := range []string{spec.Correct, spec.Moved, spec.Expire} {
			for _, c := range r.Cases(measure) {
				worst = max(worst, r.Cell(c, engine).Summary(fault.name).Max/float64(c.N))
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
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// writeSummary writes the summary to the README beside dir, if there is one with a
// place for it.
func writeSummary(r *results.Results, dir string) error {
	file := filepath.Join(dir, "..", "README.md")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	before, rest, _ := strings.Cut(string(text), summaryBegin)
	_, after, found := strings.Cut(rest, summaryEnd)
	if err != nil || !found {
		return err
	}
	return os.WriteFile(file, []byte(before+summaryBegin+"\n"+summary(r).String()+"\n"+summaryEnd+after), 0o644)
}
