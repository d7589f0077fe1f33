package report

import (
	"fmt"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// faultNames says of each kind of fault what it is called.
var faultNames = []struct{ metric, short string }{
	{spec.Early, "early"},
	{spec.Lost, "lost"},
	{spec.Repeated, "repeated"},
	{spec.Revived, "ran though cancelled"},
	{spec.Refused, "cancel refused"},
}

// meanings explains what faults are called.
var meanings = map[string]string{
	"early":                "it ran before its deadline.",
	"lost":                 "it never ran, although it was not cancelled or its cancel had said that it came too late.",
	"repeated":             "it ran more than once.",
	"ran though cancelled": "its cancel had said that it came in time; with an engine that does not say, the cancel had returned at least 100 ms before.",
	"cancel refused":       "its cancel said no, although it had neither run nor been cancelled, nor was it due within 100 ms.",
}

// meaning is a kind of fault, and what that is.
type meaning struct{ Name, Text string }

// glossary explains the faults that are looked for.
func glossary() (list []meaning) {
	for _, fault := range faultNames {
		list = append(list, meaning{fault.short, meanings[fault.short]})
	}
	return list
}

// trials are the measurements of correctness alone.
var trials = []struct{ measure, title, text string }{
	{spec.Correct, "Cancels", "A third of the timeouts are cancelled, half of those at a random time and half about when they are due."},
	{spec.Moved, "Resets", "Half of the timeouts are reset, a tenth of a second before their deadline or earlier; none is cancelled."},
}

// worst returns the round of the correctness measurements or of the expiry in
// which the largest share of the timeouts had a fault: how many, and of how many.
func worst(r *results.Results, engine, metric string) (n float64, of int) {
	for _, measure := range []string{spec.Correct, spec.Moved, spec.Expire} {
		for _, c := range r.Cases(measure) {
			s := r.Cell(c, engine).Summary(metric)
			if s.Known() && c.N > 0 && (of == 0 || s.Max/float64(c.N) > n/float64(of)) {
				n, of = s.Max, c.N
			}
		}
	}
	return n, of
}

// What is said of an engine without faults, and of one that nobody looked at.
const (
	none        = "none"
	notMeasured = "not measured"
)

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
		return none
	}
	return notMeasured
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
	add := func(measure, title string) {
		for _, c := range r.Cases(measure) {
			if failure := r.Cell(c, engine).Failure(); failure != "" {
				what, _, _ := strings.Cut(failure, ":")
				list = append(list, what+" in “"+strings.ToLower(title)+"”")
				return
			}
		}
	}
	for _, m := range measurements {
		add(m.measure, m.title)
	}
	for _, t := range trials {
		add(t.measure, "correctness, "+t.title)
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

// correctness returns the tables of faults that were measured.
func correctness(r *results.Results) (parts []part) {
	for _, t := range trials {
		if table := faultTable(r, t.measure); len(table.rows) > 0 {
			parts = append(parts, part{Title: t.title + ". " + strings.TrimSuffix(t.text, "."), Table: table})
		}
	}
	return parts
}

// faultTable returns the table of the faults in one of the trials.
func faultTable(r *results.Results, measure string) (t table) {
	t.head = []string{"engine", "timeouts"}
	for _, fault := range faultNames {
		t.head = append(t.head, fault.short)
		if fault.metric == spec.Early {
			t.head = append(t.head, "by up to, ms")
		}
	}
	t.head = append(t.head, "in all measurements")
	for _, c := range r.Cases(measure) {
		for _, k := range r.Engines {
			if cell := r.Cell(c, k.Name); cell != nil {
				row := append([]string{label(k), commas(int64(c.N))}, counted(cell)...)
				t.rows = append(t.rows, append(row, allFaults(r, k.Name)))
			}
		}
	}
	return t
}

// counted writes how often each fault was seen in the worst round.
func counted(cell *results.Cell) (row []string) {
	atMost := func(metric string, write func(float64) string) {
		text := "–"
		if s := cell.Summary(metric); s.Known() {
			text = write(s.Max)
		}
		row = append(row, text)
	}
	for _, fault := range faultNames {
		atMost(fault.metric, whole)
		if fault.metric == spec.Early {
			atMost(spec.EarlyMs, number)
		}
	}
	return row
}
