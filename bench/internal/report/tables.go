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

// grid shows one metric of a measurement: a row an engine, and for each case the
// figure and our base's ratio to it.
func grid(r *results.Results, m measurement, metric string, cases []spec.Spec) (t table) {
	ours := base(r)
	t.head = []string{"engine"}
	for _, c := range cases {
		t.head = append(t.head, conditions(c), "ratio")
	}
	t.head = append(t.head, "faults")
	for _, k := range r.Engines {
		row := []string{label(k) + mark(m, k)}
		any := false
		for _, c := range cases {
			cell := r.Cell(c, k.Name)
			s := cell.Summary(metric)
			any = any || s.Known() || cell.Failure() != ""
			row = append(row, figureOf(cell, s), ratio(stats.Ratio(r.Cell(c, ours.Name).Summary(metric), s)))
		}
		if any {
			t.rows = append(t.rows, append(row, faults(r, k.Name)))
		}
	}
	return t
}

// figureOf writes the figure, or why there is none.
func figureOf(cell *results.Cell, s stats.Summary) string {
	if failure := cell.Failure(); failure != "" && !s.Known() {
		return failure
	}
	return figure(s)
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

// floors shows every figure of ours that has a floor as a multiple of it: times
// of that of the three things no timer can do without, bytes of the timeout's
// own 48.
func floors(r *results.Results) (t table) {
	t.head = []string{"figure"}
	var ours []engines.Kind
	for _, k := range r.Engines {
		if k.Ours {
			ours = append(ours, k)
			t.head = append(t.head, label(k), "× floor")
		}
	}
	for _, m := range measurements {
		for _, metric := range m.metrics {
			floor := floorOf(r, metric)
			if !floor.Known() {
				continue
			}
			for _, c := range r.Cases(m.measure) {
				row := []string{m.title + ", " + conditions(c) + ": " + metric.title + ", " + metric.unit}
				for _, k := range ours {
					s := r.Cell(c, k.Name).Summary(metric.name)
					row = append(row, figureOf(r.Cell(c, k.Name), s), ratio(stats.Ratio(s, floor)))
				}
				t.rows = append(t.rows, row)
			}
		}
	}
	return t
}

// floorOf returns what a metric cannot go below, if there is such a thing.
func floorOf(r *results.Results, m metric) stats.Summary {
	for _, c := range r.Cases(spec.Floor) {
		switch m.name {
		case spec.HeapBytes:
			return r.Cell(c, "").Summary(spec.Bytes)
		case spec.CPUNs, spec.WallNs, spec.Bytes, spec.Allocs:
			return r.Cell(c, "").Summary(m.name)
		}
	}
	return stats.Summary{}
}
