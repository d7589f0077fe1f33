package report

import (
	"slices"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/internal/cli"
)

// faults are what an engine can do wrong with a timeout.
var faults = []metric{
	{name: spec.Early, head: "early"},
	{name: spec.EarlyMs, head: "by up to, ms"},
	{name: spec.Lost, head: "lost"},
	{name: spec.Repeated, head: "repeated"},
	{name: spec.Revived, head: "ran though cancelled"},
	{name: spec.Refused, head: "cancel refused"},
}

// trials are the measurements of correctness.
var trials = []struct{ name, title string }{
	{spec.Correct, "A third of the timeouts are cancelled, half of those at a random time and half about when they are due"},
	{spec.Moved, "Half of the timeouts are reset, a tenth of a second before their deadline or earlier"},
}

// faulty reports whether the engine did anything wrong with a timeout.
func faulty(r *results.Results, engine string) bool {
	for _, measure := range []string{spec.Correct, spec.Moved, spec.Expire} {
		for _, c := range r.Cases(measure) {
			cell := r.Cell(c, engine)
			if slices.ContainsFunc(faults, func(m metric) bool { return cell.Summary(m.name).Max > 0 }) {
				return true
			}
		}
	}
	return false
}

// correctness returns the tables of faults: how often each was seen in the worst
// round.
func correctness(r *results.Results) (tables []titled) {
	for _, trial := range trials {
		t := table{head: []string{"engine", "timeouts"}}
		for _, fault := range faults {
			t.head = append(t.head, fault.head)
		}
		for _, c := range r.Cases(trial.name) {
			for _, k := range r.Engines {
				if cell := r.Cell(c, k.Name); cell != nil {
					t.add(append([]string{label(r, k), cli.Count(int64(c.N))}, worst(cell)...)...)
				}
			}
		}
		if !t.Empty() {
			tables = append(tables, titled{trial.title, t})
		}
	}
	return tables
}

func worst(cell *results.Cell) (row []string) {
	for _, fault := range faults {
		text := absent
		if s := cell.Summary(fault.name); s.Known() {
			text = cli.Number(s.Max)
		}
		row = append(row, text)
	}
	return row
}

// failures returns the table of the measurements that an engine did not survive.
func failures(r *results.Results) table {
	t := table{head: []string{"engine", "measurement", "failure"}, text: true}
	seen := make(map[[2]string]bool)
	for _, k := range r.Engines {
		for _, cell := range r.Cells {
			key := [2]string{cell.Engine, cell.Measure}
			if cell.Engine == k.Name && cell.Failure != "" && cell.Measure != spec.Sustained && !seen[key] {
				seen[key] = true
				t.add(label(r, k), title(cell.Measure)+", "+conditions(cell.Spec), cell.Failure)
			}
		}
	}
	return t
}

// title returns the title of a measurement.
func title(name string) string {
	i := slices.IndexFunc(measurements, func(m measurement) bool { return m.name == name })
	if i < 0 {
		return "Correctness"
	}
	return measurements[i].title
}
