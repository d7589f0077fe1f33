package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/internal/cli"
)

// section is one measurement on the page.
type section struct {
	Title, Text, Plot string
	Tables            []titled
}

// sections returns a section for each measurement that was made.
func sections(r *results.Results) (all []section) {
	for _, m := range measurements {
		s := section{Title: m.title, Text: m.text, Plot: m.plot}
		if m.byCase {
			s.Tables = byCase(r, m)
		} else {
			s.Tables = byMetric(r, m)
		}
		if m.name == spec.Sustained {
			s.Tables = append([]titled{highestRates(r)}, s.Tables...)
		}
		s.Tables = slices.DeleteFunc(s.Tables, func(t titled) bool { return t.Table.Empty() })
		if len(s.Tables) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// byCase returns a table a case, with a column a metric.
func byCase(r *results.Results, m measurement) (tables []titled) {
	for _, c := range r.Cases(m.name) {
		var columns []column
		for _, metric := range m.metrics {
			if measured(r, c, metric) {
				columns = append(columns, column{metric.head, c, metric})
			}
		}
		tables = append(tables, titled{capital(conditions(c)), grid(r, m, columns)})
	}
	return tables
}

// byMetric returns a table for each metric and group of cases, with a column a case.
func byMetric(r *results.Results, m measurement) (tables []titled) {
	for _, metric := range m.metrics {
		for _, group := range grouped(shown(r.Cases(m.name))) {
			var columns []column
			for _, c := range group {
				if measured(r, c, metric) {
					columns = append(columns, column{columnHead(c), c, metric})
				}
			}
			if len(columns) > 0 {
				tables = append(tables, titled{capital(metric.head) + groupTitle(group[0]), grid(r, m, columns)})
			}
		}
	}
	return tables
}

// measured reports whether any engine has that metric in the case.
func measured(r *results.Results, c spec.Spec, m metric) bool {
	return slices.ContainsFunc(r.Engines, func(k engines.Kind) bool { return r.Cell(c, k.Name).Summary(m.name).Known() })
}

// shown returns the cases that tables show: nothing pending, a million and ten
// million, or the largest background if it is none of them.
func shown(cases []spec.Spec) []spec.Spec {
	most := 0
	for _, c := range cases {
		most = max(most, c.Pending)
	}
	return slices.DeleteFunc(slices.Clone(cases), func(c spec.Spec) bool {
		return !slices.Contains([]int{0, 1e6, 1e7, most}, c.Pending)
	})
}

// group is what the cases of one table have in common.
type group struct {
	producers int
	delay     string
}

func groupOf(c spec.Spec) group { return group{c.Producers, c.Delay.String()} }

// grouped parts cases by their group.
func grouped(cases []spec.Spec) (groups [][]spec.Spec) {
	for _, c := range cases {
		i := slices.IndexFunc(groups, func(g []spec.Spec) bool { return groupOf(g[0]) == groupOf(c) })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

func groupTitle(c spec.Spec) (text string) {
	if c.Producers > 1 {
		text += fmt.Sprintf(", %d producers", c.Producers)
	}
	if c.Delay > 0 {
		text += fmt.Sprintf(", due after %v", c.Delay)
	}
	return text
}

// columnHead names a case within its group.
func columnHead(c spec.Spec) string {
	if c.Rate > 0 {
		return cli.Count(int64(c.Rate)) + "/s"
	}
	return pending(c.Pending)
}

func pending(n int) string {
	if n == 0 {
		return "nothing pending"
	}
	return cli.Count(int64(n)) + " pending"
}

// conditions describes a case.
func conditions(c spec.Spec) string {
	var parts []string
	switch {
	case c.Busy > 0:
		parts = append(parts, fmt.Sprintf("%d chains among %d goroutines", c.N, c.Busy))
	case c.Rate > 0:
		parts = append(parts, columnHead(c))
	case slices.Contains([]string{spec.Expire, spec.Burst, spec.Correct, spec.Moved, spec.Deadlines, spec.Goroutines}, c.Measure):
		parts = append(parts, cli.Count(int64(c.N))+" timeouts")
	default:
		parts = append(parts, pending(c.Pending))
	}
	return strings.Join(parts, ", ") + groupTitle(c)
}

// capital writes the first letter of a title large.
func capital(title string) string { return strings.ToUpper(title[:1]) + title[1:] }

const (
	carriedMissed = 1   // percent of the operations that an engine may not make
	carriedLate   = 100 // ms, the p99 of the lateness
)

// highestRates returns the table of the highest sustained rate that each engine
// carries.
func highestRates(r *results.Results) titled {
	groups := grouped(r.Cases(spec.Sustained))
	t := table{head: []string{"engine"}}
	for _, g := range groups {
		t.head = append(t.head, strings.TrimPrefix(groupTitle(g[0]), ", "))
	}
	for _, k := range r.Engines {
		row, any := []string{label(r, k)}, false
		for _, g := range groups {
			most, known := highestRate(r, g, k.Name)
			any = any || known
			row = append(row, most)
		}
		if any {
			t.add(row...)
		}
	}
	return titled{fmt.Sprintf("The highest rate carried, with at most %d %% not made and a p99 of at most %d ms",
		carriedMissed, carriedLate), t}
}

func highestRate(r *results.Results, group []spec.Spec, engine string) (text string, known bool) {
	most := 0
	for _, c := range group {
		cell := r.Cell(c, engine)
		missed, late := cell.Summary(spec.Behind), cell.Summary(spec.LateP99)
		known = known || missed.Known()
		if missed.Known() && missed.Median <= carriedMissed && late.Median <= carriedLate {
			most = max(most, c.Rate)
		}
	}
	switch {
	case !known:
		return absent, false
	case most == 0:
		return "none", true
	}
	return cli.Count(int64(most)) + "/s", true
}
