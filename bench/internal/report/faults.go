package report

import (
	"fmt"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
)

// faultNames says of each kind of fault what it is called.
var faultNames = []struct{ metric, short string }{
	{spec.Early, "early"}, {spec.Lost, "lost"}, {spec.Repeated, "repeated"}, {spec.Revived, "ran though cancelled"},
}

// worst returns the most of a fault that any round of the correctness
// measurement or of the expiry showed, and among how many timeouts.
func worst(r *results.Results, engine, metric string) (n float64, of int) {
	for _, measure := range []string{spec.Correct, spec.Expire} {
		for _, c := range r.Cases(measure) {
			if s := r.Cell(c, engine).Summary(metric); s.Known() && (of == 0 || s.Max > n) {
				n, of = s.Max, c.N
			}
		}
	}
	return n, of
}

// faults says in a few words what the engine did wrong.
func faults(r *results.Results, engine string) string {
	list, known := wrongs(r, engine)
	if failed := failures(r, engine); len(failed) > 0 {
		list = append(list, "failed: "+count(len(failed), "measurement"))
	}
	return joined(list, known)
}

// allFaults is faults with the failures one by one.
func allFaults(r *results.Results, engine string) string {
	list, known := wrongs(r, engine)
	return joined(append(list, failures(r, engine)...), known)
}

func joined(list []string, known bool) string {
	switch {
	case len(list) > 0:
		return strings.Join(list, "; ")
	case known:
		return "none"
	}
	return "not measured"
}

// wrongs returns what the engine did wrong with timeouts, and whether anybody
// looked.
func wrongs(r *results.Results, engine string) (list []string, known bool) {
	for _, fault := range faultNames {
		n, of := worst(r, engine, fault.metric)
		known = known || of > 0
		if n > 0 {
			list = append(list, fmt.Sprintf("%s: %s", fault.short, share(n, of)))
		}
	}
	return list, known
}

// failures returns in which measurements the engine hung or crashed.
func failures(r *results.Results, engine string) (list []string) {
	for _, m := range measurements {
		for _, c := range r.Cases(m.measure) {
			if failure := r.Cell(c, engine).Failure(); failure != "" {
				what, _, _ := strings.Cut(failure, ":")
				list = append(list, what+" in “"+strings.ToLower(m.title)+"”")
				break
			}
		}
	}
	return list
}

// share writes n of so many, as a percentage where that says more.
func share(n float64, of int) string {
	if percent := 100 * n / float64(of); percent >= 0.1 {
		return number(percent) + " %"
	}
	return fmt.Sprintf("%s of %s", commas(int64(n)), commas(int64(of)))
}

// correctness returns the table of faults, or nothing if they were not measured.
func correctness(r *results.Results) string {
	var t table
	t.head = []string{"engine", "timeouts", "early", "by up to, ms", "lost", "repeated", "ran though cancelled", "in all measurements"}
	for _, c := range r.Cases(spec.Correct) {
		for _, k := range r.Engines {
			row := []string{label(k), commas(int64(c.N))}
			cell := r.Cell(c, k.Name)
			for _, metric := range []string{spec.Early, spec.EarlyMs, spec.Lost, spec.Repeated, spec.Revived} {
				row = append(row, atMost(cell.Summary(metric)))
			}
			t.rows = append(t.rows, append(row, allFaults(r, k.Name)))
		}
	}
	if len(t.rows) == 0 {
		return ""
	}
	return t.String()
}

// atMost writes the worst round.
func atMost(s stats.Summary) string {
	if !s.Known() {
		return "–"
	}
	return number(s.Max)
}
