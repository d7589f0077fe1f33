package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
	"github.com/hashedwheel/hwt/internal/cli"
)

// absent stands for a figure that there is not.
const absent = "–"

// table is a table in Markdown. The first column holds text, the others figures,
// unless all is text.
type table struct {
	head []string
	rows [][]string
	text bool
}

// titled is a table under a title.
type titled struct {
	Title string
	Table table
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

// base returns the engine that all others are compared with: the first of ours.
func base(r *results.Results) engines.Kind {
	for _, k := range r.Engines {
		if k.Ours {
			return k
		}
	}
	return engines.Kind{}
}

// label writes an engine's name, ours in bold, and marks it if it has faults.
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

// column is one metric of one case.
type column struct {
	head   string
	c      spec.Spec
	metric metric
}

// grid shows the columns, a row an engine.
func grid(r *results.Results, m measurement, columns []column) table {
	t := table{head: []string{"engine"}}
	best := make([]string, len(columns))
	for i, col := range columns {
		t.head = append(t.head, col.head)
		if col.metric.ratio {
			t.head = append(t.head, "×")
		}
		best[i] = bestOf(r, col)
	}
	for _, k := range r.Engines {
		row, any := []string{label(r, k)}, false
		if m.resets && !k.Resets {
			row[0] += " †"
		}
		for i, col := range columns {
			cell := r.Cell(col.c, k.Name)
			s := cell.Summary(col.metric.name)
			any = any || cell != nil && (s.Known() || cell.Failure != "")
			row = append(row, figure(cell, s, col.metric, best[i], fair(r, col.metric, col.c, k.Name)))
			if col.metric.ratio {
				row = append(row, ratio(s, r.Cell(col.c, base(r).Name).Summary(col.metric.name)))
			}
		}
		if any {
			t.add(row...)
		}
	}
	return t
}

// figure writes the median, with the least and the greatest if there was more than
// one round, or why there is none. The best of a column is bold.
func figure(cell *results.Cell, s stats.Summary, m metric, best string, fair bool) string {
	switch {
	case !s.Known() && cell != nil && cell.Failure != "":
		short, _, _ := strings.Cut(cell.Failure, ":")
		return short
	case !s.Known():
		return absent
	}
	text := cli.Number(s.Median)
	if fair && text == best {
		text = "**" + text + "**"
	}
	if s.Rounds > 1 {
		text += fmt.Sprintf(" (%s to %s)", cli.Number(s.Min), cli.Number(s.Max))
	}
	if behind := cell.Summary(spec.Behind).Median; m == p99 && cell.Measure == spec.Sustained && behind > carriedMissed {
		text += fmt.Sprintf(", %.0f %% not made", behind)
	}
	return text
}

// ratio writes a's median over b's.
func ratio(a, b stats.Summary) string {
	if r := stats.Ratio(a, b); !math.IsNaN(r) {
		return cli.Number(r)
	}
	return absent
}

// bestOf returns the best figure of a column as it is written, or nothing if it is
// not to be compared or all are level.
func bestOf(r *results.Results, col column) string {
	if col.metric.least == 0 {
		return ""
	}
	var best stats.Summary
	written := make(map[string]bool)
	for _, k := range r.Engines {
		s := r.Cell(col.c, k.Name).Summary(col.metric.name)
		if !s.Known() {
			continue
		}
		written[cli.Number(s.Median)] = true
		if fair(r, col.metric, col.c, k.Name) && (!best.Known() || col.metric.better(s, best)) {
			best = s
		}
	}
	if !best.Known() || len(written) < 2 {
		return ""
	}
	return cli.Number(best.Median)
}

// fair reports whether a low figure is not the result of a fault: an engine that runs
// timeouts early, or never, is not late, and one that does less of the work needs
// less.
func fair(r *results.Results, m metric, c spec.Spec, engine string) bool {
	if !m.needsWork {
		return true
	}
	const percent = 1 // less than that is how a pace is kept
	cell, ours := r.Cell(c, engine), r.Cell(c, base(r).Name)
	return cell.Summary(spec.Early).Max == 0 && cell.Summary(spec.Lost).Max == 0 &&
		cell.Summary(spec.Behind).Median <= ours.Summary(spec.Behind).Median+percent
}
