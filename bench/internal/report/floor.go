package report

import (
	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
)

// floorLine is one part of the floor.
type floorLine struct{ Title, Figure string }

// floor returns the lines of the floor.
func floor(r *results.Results) (lines []floorLine) {
	for _, c := range r.Cases(spec.Floor) {
		cell := r.Cell(c, "")
		for _, m := range []metric{
			{name: spec.AllocNs, title: "one allocation of 48 bytes"},
			{name: spec.ClockNs, title: "one reading of the clock"},
			{name: spec.SwapNs, title: "one atomic swap"},
			{name: spec.CPUNs, title: "all three in one loop: the floor"},
		} {
			lines = append(lines, floorLine{m.title, figureOf(cell, cell.Summary(m.name), m, false)})
		}
	}
	return lines
}

// floors shows our figures as multiples of the floor: CPU of that of the three
// things no timer can do without, heap of the timeout's own 48 bytes.
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
			for _, c := range shown(r.Cases(m.measure)) {
				row := []string{m.title + ", " + conditions(c) + ": " + metric.head()}
				for _, k := range ours {
					s := r.Cell(c, k.Name).Summary(metric.name)
					row = append(row, figureOf(r.Cell(c, k.Name), s, metric, false), ratio(stats.Ratio(s, floor)))
				}
				t.rows = append(t.rows, row)
			}
		}
	}
	return t
}

// floorOf returns what a metric is measured by, if there is such a thing.
func floorOf(r *results.Results, m metric) stats.Summary {
	for _, c := range r.Cases(spec.Floor) {
		switch m.name {
		case spec.HeapBytes:
			return r.Cell(c, "").Summary(spec.Bytes)
		case spec.CPUNs:
			return r.Cell(c, "").Summary(spec.CPUNs)
		}
	}
	return stats.Summary{}
}
