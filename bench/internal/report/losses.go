package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
)

// near is how many times what a rival needs we may need before it counts as a
// difference at all.
const near = 1.02

// loss is a figure in which another engine is ahead of our base.
type loss struct {
	measurement measurement
	metric      metric
	c           spec.Spec
	engine      string
	ours, its   stats.Summary
	clear       bool // in every round
}

// losses returns all of them, and in how many figures our base was compared.
func losses(r *results.Results) (list []loss, compared int) {
	ours := base(r).Name
	for _, m := range measurements {
		for _, metric := range m.metrics {
			for _, c := range r.Cases(m.measure) {
				mine := r.Cell(c, ours).Summary(metric.name)
				for _, k := range r.Engines {
					its := r.Cell(c, k.Name).Summary(metric.name)
					if k.Name == ours || !mine.Known() || !its.Known() {
						continue
					}
					compared++
					if mine.Median > near*its.Median && mine.Median-its.Median >= metric.least {
						list = append(list, loss{m, metric, c, k.Name, mine, its, stats.Apart(mine, its)})
					}
				}
			}
		}
	}
	return list, compared
}

// behind says of each measurement, in a sentence a metric, where we lose and
// what to use then.
func behind(r *results.Results) []string {
	var lines []string
	list, _ := losses(r)
	for _, m := range measurements {
		for _, metric := range m.metrics {
			here := slices.DeleteFunc(slices.Clone(list), func(l loss) bool {
				return l.measurement.measure != m.measure || l.metric != metric || !l.clear
			})
			if len(here) > 0 {
				lines = append(lines, sentence(r, m, metric, here))
			}
		}
	}
	return lines
}

// sentence tells of the losses in one metric.
func sentence(r *results.Results, m measurement, metric metric, here []loss) string {
	slices.SortStableFunc(here, func(a, b loss) int { return cmp.Compare(a.its.Median/a.ours.Median, b.its.Median/b.ours.Median) })
	var parts []string
	told := make(map[string]bool)
	for _, l := range here {
		if !told[l.engine] {
			told[l.engine] = true
			parts = append(parts, ahead(here, l))
		}
	}
	return fmt.Sprintf("**%s, %s:** ahead of us: %s. %s", m.title, metric.title, strings.Join(parts, "; "), advice(r, here))
}

// ahead says how far l's engine is ahead, and in how many cases; l is the worst.
func ahead(here []loss, l loss) string {
	cases := 0
	for _, other := range here {
		if other.engine == l.engine {
			cases++
		}
	}
	text := fmt.Sprintf("%s with %s (%s against our %s %s)",
		l.engine, conditions(l.c), number(l.its.Median), number(l.ours.Median), l.metric.unit)
	if cases > 1 {
		text += fmt.Sprintf(" and by no more in %s", count(cases-1, "other case"))
	}
	return text
}

// advice says what to use where these figures decide: the sound engine that is
// ahead in most of them.
func advice(r *results.Results, here []loss) string {
	wins := make(map[string]int)
	var unsound []string
	for _, l := range here {
		if faults(r, l.engine) == "none" {
			wins[l.engine]++
		} else if !slices.Contains(unsound, l.engine) {
			unsound = append(unsound, l.engine)
		}
	}
	best := ""
	for _, l := range here {
		if wins[l.engine] > wins[best] {
			best = l.engine
		}
	}
	warning := ""
	for _, engine := range unsound {
		warning += fmt.Sprintf(" Mind the faults of %s: %s.", engine, faults(r, engine))
	}
	if best == "" {
		return "None of them was measured to be free of faults." + warning
	}
	return fmt.Sprintf("Where that decides, use %s.%s", best, warning)
}

// level counts the figures in which another engine's median is better, but not
// in every round.
func level(r *results.Results) (n int) {
	list, _ := losses(r)
	for _, l := range list {
		if !l.clear {
			n++
		}
	}
	return n
}
