package report

import (
	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
)

// base returns the engine that all others are compared with: the first of ours.
func base(r *results.Results) engines.Kind {
	for _, k := range r.Engines {
		if k.Ours {
			return k
		}
	}
	return engines.Kind{}
}

// label writes an engine's name, ours in bold.
func label(k engines.Kind) string {
	if k.Ours {
		return "**" + k.Name + "**"
	}
	return k.Name
}

// column is one metric of one case.
type column struct {
	head   string
	c      spec.Spec
	metric metric
	ratio  bool // with our base's ratio to each figure beside it
}

// grid shows the columns, a row an engine, with the engine's faults in its row.
func grid(r *results.Results, m measurement, columns []column) (t table) {
	ours := base(r)
	least := make([]string, len(columns))
	t.head = []string{"engine"}
	for i, col := range columns {
		t.head = append(t.head, col.head)
		if col.ratio {
			t.head = append(t.head, "ratio")
		}
		least[i] = leastOf(r, col)
	}
	t.head = append(t.head, "faults")
	for _, k := range r.Engines {
		row := []string{label(k) + mark(m, k)}
		any := false
		for i, col := range columns {
			cell := r.Cell(col.c, k.Name)
			s := cell.Summary(col.metric.name)
			any = any || s.Known() || cell.Failure() != ""
			bold := s.Known() && col.metric.write(s.Median) == least[i] && fair(r, col.metric, col.c, k.Name)
			row = append(row, figureOf(cell, s, col.metric, bold))
			if col.ratio {
				row = append(row, ratio(stats.Ratio(r.Cell(col.c, ours.Name).Summary(col.metric.name), s)))
			}
		}
		if any {
			t.rows = append(t.rows, append(row, faults(r, k.Name)))
		}
	}
	return t
}

// leastOf returns the least figure of a column as it is written, or nothing if
// less is not better or all are level.
func leastOf(r *results.Results, col column) string {
	if col.metric.least == 0 {
		return ""
	}
	var least stats.Summary
	written := make(map[string]bool)
	for _, k := range r.Engines {
		s := r.Cell(col.c, k.Name).Summary(col.metric.name)
		if !s.Known() {
			continue
		}
		written[col.metric.write(s.Median)] = true
		if fair(r, col.metric, col.c, k.Name) && (!least.Known() || s.Median < least.Median) {
			least = s
		}
	}
	if !least.Known() || len(written) < 2 {
		return ""
	}
	return col.metric.write(least.Median)
}

// fair reports whether a low figure is no fruit of a fault: who runs timeouts
// early, or never, is not late, and who does less of the work needs less.
func fair(r *results.Results, m metric, c spec.Spec, engine string) bool {
	cell := r.Cell(c, engine)
	switch m.name {
	case spec.LateP50, spec.LateP99, spec.LateP999, spec.LateMax:
		return cell.Summary(spec.Early).Max == 0 && cell.Summary(spec.Lost).Max == 0
	case spec.CorePct:
		const percent = 1 // less than that is how a pace is kept
		ours := r.Cell(c, base(r).Name).Summary(spec.Behind)
		return cell.Summary(spec.Behind).Median < ours.Median+percent
	}
	return true
}

// figureOf writes the figure, or why there is none.
func figureOf(cell *results.Cell, s stats.Summary, m metric, bold bool) string {
	if failure := cell.Failure(); failure != "" && !s.Known() {
		return failure
	}
	return figure(s, m.write, bold)
}

// mark marks engines that have no reset, where one is measured.
func mark(m measurement, k engines.Kind) string {
	if m.resets && !k.Resets {
		return " †"
	}
	return ""
}

// some reports whether any engine has that metric in one of the cases.
func some(r *results.Results, cases []spec.Spec, metric string) bool {
	for _, c := range cases {
		for _, k := range r.Engines {
			if r.Cell(c, k.Name).Summary(metric).Known() {
				return true
			}
		}
	}
	return false
}
