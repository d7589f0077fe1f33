package report

import (
	"strconv"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
	"github.com/hashedwheel/hwt/internal/cli"
)

// near is the ratio below which two figures are level.
const near = 1.02

// loss is a figure in which another engine is ahead of our base.
type loss struct {
	c         spec.Spec
	ours, its stats.Summary
}

// losses returns the table of what our base loses in every round: for each metric and
// engine the case with the greatest difference, and how many cases there are.
func losses(r *results.Results) table {
	t := table{head: []string{"measurement", "figure", "ahead", "cases", "the clearest", "its figure", base(r).Name + "'s"}, text: true}
	for _, m := range measurements {
		for _, metric := range m.metrics {
			for _, k := range r.Engines {
				list := lost(r, m, metric, k)
				if len(list) == 0 {
					continue
				}
				l := greatest(list)
				rounds := ""
				if min(l.ours.Rounds, l.its.Rounds) == 1 {
					rounds = " (one round)"
				}
				t.add(m.title, metric.head, label(r, k), strconv.Itoa(len(list)), conditions(l.c)+rounds,
					cli.Number(l.its.Median), cli.Number(l.ours.Median))
			}
		}
	}
	return t
}

// lost returns the cases in which an engine is ahead in one metric.
func lost(r *results.Results, m measurement, metric metric, k engines.Kind) (list []loss) {
	if metric.least == 0 || k.Name == base(r).Name {
		return nil
	}
	for _, c := range r.Cases(m.name) {
		l := loss{c, r.Cell(c, base(r).Name).Summary(metric.name), r.Cell(c, k.Name).Summary(metric.name)}
		if l.ours.Known() && l.its.Known() && fair(r, metric, c, k.Name) && l.clear(metric) {
			list = append(list, l)
		}
	}
	return list
}

// clear reports whether the other engine is ahead by a difference that matters, and
// in every round.
func (l loss) clear(m metric) bool {
	least, most := l.its.Median, l.ours.Median
	if m.more {
		least, most = most, least
	}
	return most > near*least && most-least >= m.least && stats.Apart(l.ours, l.its)
}

// greatest returns the loss with the greatest ratio.
func greatest(list []loss) loss {
	worst := list[0]
	for _, l := range list {
		if l.factor() > worst.factor() {
			worst = l
		}
	}
	return worst
}

// factor returns how many times one figure is the other, at least 1.
func (l loss) factor() float64 { return max(stats.Ratio(l.ours, l.its), stats.Ratio(l.its, l.ours)) }
