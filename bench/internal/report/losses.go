package report

import (
	"cmp"
	"slices"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
)

const (
	near       = 1.02 // a smaller ratio is no loss
	mostLosses = 12   // rows on the page
)

// loss is a value in which an engine of others is ahead of our base.
type loss struct {
	m         measurement
	metric    metric
	k         engines.Kind
	c         spec.Spec
	ours, its stats.Summary
}

// losses returns the table of the greatest losses of our base: per measurement and metric,
// the case and the correct engine of others with the largest ratio.
func losses(r *results.Results) table {
	var all []loss
	for _, m := range measurements {
		for _, metric := range m.metrics {
			if list := lost(r, m, metric); len(list) > 0 {
				all = append(all, slices.MaxFunc(list, byFactor))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b loss) int { return byFactor(b, a) })
	t := table{head: []string{"measurement", "value", "case", "ahead", "its value", base(r).Name + "’s"}, text: true}
	for _, l := range all[:min(len(all), mostLosses)] {
		t.add(l.m.title, l.metric.head, l.c.Conditions(), label(r, l.k), number(l.its), number(l.ours))
	}
	return t
}

// lost returns the cases and engines that are ahead in one metric.
func lost(r *results.Results, m measurement, metric metric) (list []loss) {
	for _, k := range r.Engines {
		if metric.least == 0 || metric.inGo && k.Foreign || k.Ours || k.Floor || faulty(r, k.Name) {
			continue
		}
		for _, c := range r.Cases(m.name) {
			l := loss{m, metric, k, c, r.Cell(c, base(r).Name).Summary(metric.name), r.Cell(c, k.Name).Summary(metric.name)}
			if l.ours.Known() && l.its.Known() && fair(r, metric, c, k.Name) && l.clear() {
				list = append(list, l)
			}
		}
	}
	return list
}

// clear reports whether the other engine is ahead by a difference that matters, with
// intervals that do not overlap.
func (l loss) clear() bool {
	its, ours := l.its.Median, l.ours.Median
	return ours > near*its && ours-its >= l.metric.least && stats.Apart(l.ours, l.its)
}

func byFactor(a, b loss) int { return cmp.Compare(a.factor(), b.factor()) }

func (l loss) factor() float64 { return l.ours.Median / l.its.Median }
