package report

import (
	"slices"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// section is one measurement.
type section struct {
	Title, Text, Plot string
	Parts             []part
	Marked            bool // an engine in it has no reset
}

// part is one table of a section.
type part struct {
	Title string
	Table table
}

// newSection returns the section of a measurement, if it was made.
func newSection(r *results.Results, m measurement) (section, bool) {
	s := section{Title: m.title, Text: m.text, Plot: m.plot}
	if cases := shown(r.Cases(m.measure)); len(cases) == 1 {
		s.Parts = parts(r, m, "With "+conditions(cases[0]), metricsAsColumns(r, cases[0], withShownOnly(m)))
	} else {
		s.Parts = casesAsColumns(r, m, cases)
	}
	for i := range s.Parts {
		s.Parts[i].Title = capital(s.Parts[i].Title)
	}
	s.Marked = slices.ContainsFunc(r.Engines, func(k engines.Kind) bool {
		return mark(m, k) != "" && slices.ContainsFunc(r.Cells, func(c *results.Cell) bool {
			return c.Spec.Measure == m.measure && c.Spec.Engine == k.Name
		})
	})
	return s, len(s.Parts) > 0
}

// capital writes the first letter of a title large.
func capital(title string) string { return strings.ToUpper(title[:1]) + title[1:] }

// parts returns the part with these columns, if there are any.
func parts(r *results.Results, m measurement, title string, columns []column) []part {
	if len(columns) == 0 {
		return nil
	}
	return []part{{title, grid(r, m, columns)}}
}

// shown returns the cases that tables show: nothing pending, a million and ten
// million, or the largest background if it is none of them.
func shown(cases []spec.Spec) []spec.Spec {
	most := 0
	for _, c := range cases {
		most = max(most, c.Pending)
	}
	return slices.DeleteFunc(slices.Clone(cases), func(c spec.Spec) bool {
		switch c.Pending {
		case 0, 1e6, 1e7, most:
			return false
		}
		return true
	})
}

// casesAsColumns makes a table of each metric and number of producers; what is
// allocated hardly changes with the background, so one table shows all of it.
func casesAsColumns(r *results.Results, m measurement, cases []spec.Spec) (all []part) {
	var allocated []metric
	for _, metric := range m.metrics {
		if metric.name == spec.Bytes || metric.name == spec.Allocs {
			allocated = append(allocated, metric)
			continue
		}
		for _, group := range byProducers(cases) {
			var columns []column
			for _, c := range group {
				if some(r, []spec.Spec{c}, metric.name) {
					columns = append(columns, column{background(c), c, metric, true})
				}
			}
			title := metric.head()
			if group[0].Producers > 1 {
				title += ", by two producers"
			}
			all = append(all, parts(r, m, title, columns)...)
		}
	}
	if i := largest(cases); i >= 0 {
		title := "Allocated by a call, with " + conditions(cases[i])
		all = append(all, parts(r, m, title, metricsAsColumns(r, cases[i], allocated))...)
	}
	return all
}

// largest returns the case with the largest background up to a million that has
// one producer, or -1.
func largest(cases []spec.Spec) int {
	best := -1
	for i, c := range cases {
		if c.Producers <= 1 && c.Pending <= 1e6 && (best < 0 || c.Pending > cases[best].Pending) {
			best = i
		}
	}
	return best
}

// metricsAsColumns returns a column a metric, with ratios for the first.
func metricsAsColumns(r *results.Results, c spec.Spec, metrics []metric) (columns []column) {
	for _, metric := range metrics {
		if some(r, []spec.Spec{c}, metric.name) {
			columns = append(columns, column{metric.head(), c, metric, len(columns) == 0})
		}
	}
	return columns
}

// withShownOnly returns the metrics of a measurement with those that are shown
// and not compared.
func withShownOnly(m measurement) []metric {
	if m.measure != spec.Expire {
		return m.metrics
	}
	return slices.Concat(m.metrics[:1], shownOnly, m.metrics[1:])
}

// byProducers parts cases by their producers, to keep tables narrow.
func byProducers(cases []spec.Spec) (groups [][]spec.Spec) {
	for _, c := range cases {
		i := slices.IndexFunc(groups, func(group []spec.Spec) bool { return group[0].Producers == c.Producers })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}
