package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// leastMs is the left edge of the plot of lateness: what was early, or less late
// than this, lies on it.
const leastMs = 0.001

// lateness plots for each engine what share of its timeouts had run how late.
func lateness(r *results.Results) (*vgsvg.Canvas, error) {
	p := newPlot("Due within one second: how late they run", "lateness, ms",
		"share of the timeouts that have run, %")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, lateTicks{}
	p.Y.Min, p.Y.Max = 0, 100
	p.Add(lightGrid())
	n := 0
	for _, c := range r.Cases(spec.Expire) {
		// Ours last, so that it lies on top; the legend keeps the order.
		lines := make(map[string]*plotter.Line)
		for i := len(r.Engines) - 1; i >= 0; i-- {
			k := r.Engines[i]
			points := curve(r.Cell(c, k.Name).Late())
			if len(points) == 0 {
				continue
			}
			line, err := addLine(p, points, styleOf(r.Engines, k.Name))
			if err != nil {
				return nil, err
			}
			lines[k.Name] = line
			n++
		}
		for _, k := range r.Engines {
			if lines[k.Name] != nil {
				p.Legend.Add(k.Name, lines[k.Name])
			}
		}
	}
	if n == 0 {
		return nil, nil
	}
	p.X.Min, p.X.Max = leastMs, max(1, p.X.Max)
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.YOffs = 12, -6
	return onCanvas(p, 760, 420), nil
}

// lateTicks marks the left edge for what it stands for.
type lateTicks struct{}

func (lateTicks) Ticks(low, high float64) []plot.Tick {
	ticks := logTicks{}.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Value <= leastMs*1.001 {
			ticks[i].Label = "early"
		}
	}
	return ticks
}

// curve returns the points of a distribution.
func curve(points []spec.Point) plotter.XYs {
	xys := make(plotter.XYs, len(points))
	for i, p := range points {
		xys[i] = plotter.XY{X: max(leastMs, p.Ms), Y: 100 * p.Share}
	}
	return xys
}
