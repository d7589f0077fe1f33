package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/engines"
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
	engine      engines.Kind
	ours, its   stats.Summary
	how         certainty
}

// certainty says how much is to be made of a loss.
type certainty int

const (
	level  certainty = iota // the rounds overlap
	hinted                  // there was but one round
	clear                   // in every round
)

func certaintyOf(a, b stats.Summary) certainty {
	switch {
	case min(a.Rounds, b.Rounds) < 2:
		return hinted
	case stats.Apart(a, b):
		return clear
	}
	return level
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
					if k.Name == ours || !mine.Known() || !its.Known() || !fair(r, metric, c, k.Name) {
						continue
					}
					compared++
					if mine.Median > near*its.Median && mine.Median-its.Median >= metric.least {
						list = append(list, loss{m, metric, c, k, mine, its, certaintyOf(mine, its)})
					}
				}
			}
		}
	}
	return list, compared
}

// count returns how many losses are of that certainty.
func (how certainty) count(list []loss) (n int) {
	for _, l := range list {
		if l.how == how {
			n++
		}
	}
	return n
}

// behind says of each measurement, in a sentence a metric, where we lose with
// that certainty and what to use then.
func behind(r *results.Results, how certainty) []string {
	var lines []string
	list, _ := losses(r)
	for _, m := range measurements {
		for _, metric := range m.metrics {
			here := slices.DeleteFunc(slices.Clone(list), func(l loss) bool {
				return l.measurement.measure != m.measure || l.metric != metric || l.how != how
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
		if !told[l.engine.Name] {
			told[l.engine.Name] = true
			parts = append(parts, ahead(here, l))
		}
	}
	return fmt.Sprintf("**%s, %s:** ahead of %s: %s. %s",
		m.title, metric.title, base(r).Name, strings.Join(parts, "; "), advice(r, here))
}

// ahead says how far l's engine is ahead, and in how many cases; l is the worst.
func ahead(here []loss, l loss) string {
	cases := 0
	for _, other := range here {
		if other.engine.Name == l.engine.Name {
			cases++
		}
	}
	text := fmt.Sprintf("%s with %s (%s against %s)", label(l.engine), conditions(l.c),
		number(l.its.Median), strings.TrimSpace(number(l.ours.Median)+" "+l.metric.unit))
	if cases > 1 {
		text += fmt.Sprintf(" and by no more in %s", count(cases-1, "other case"))
	}
	return text
}

// advice says what to use where these figures decide: the sound engine that is
// ahead in most of them.
func advice(r *results.Results, here []loss) string {
	wins := make(map[string]int)
	var faulty, unknown []string
	for _, l := range here {
		name := l.engine.Name
		switch found := faults(r, name); {
		case found == none:
			wins[name]++
		case found == notMeasured && !slices.Contains(unknown, name):
			unknown = append(unknown, name)
		case found != notMeasured && !slices.Contains(faulty, name):
			faulty = append(faulty, name)
		}
	}
	best := ""
	for _, l := range here {
		if wins[l.engine.Name] > wins[best] {
			best = l.engine.Name
		}
	}
	var text []string
	switch {
	case best != "":
		text = append(text, fmt.Sprintf("Where that decides, use %s.", best))
	case len(faulty) > 0 && len(unknown) == 0:
		text = append(text, "None of them is free of faults.")
	}
	if len(faulty) > 0 {
		for i, name := range faulty {
			faulty[i] = fmt.Sprintf("%s (%s)", name, faults(r, name))
		}
		text = append(text, fmt.Sprintf("Mind what is wrong with %s.", strings.Join(faulty, ", ")))
	}
	if len(unknown) > 0 {
		text = append(text, fmt.Sprintf("The faults of %s were not measured.", strings.Join(unknown, ", ")))
	}
	return strings.Join(text, " ")
}
