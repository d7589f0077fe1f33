package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// The layout of the plot of lateness.
const (
	latenessWidth  = 960
	latenessHeight = 480
)

// leastShare is the bottom of the plot of lateness: one in ten thousand.
const leastShare = 0.0001

// lateness plots for each engine what share of its timeouts had still to run, so
// long after their deadlines or before. On the logarithmic scale the tails, which
// are what engines differ in, can be read.
func lateness(r *results.Results) (*vgsvg.Canvas, error) {
	p := newPlot("Due within one second: how late they run", "lateness, ms", "timeouts still to run")
	p.X.Scale, p.X.Tick.Marker = symmetric{}, symmetricTicks{}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, shareTicks
	p.Add(lightGrid(), zero{})
	drawn := make(map[string]bool)
	for _, c := range r.Cases(spec.Expire) {
		// Ours last, so that it lies on top.
		for i := len(r.Engines) - 1; i >= 0; i-- {
			name := r.Engines[i].Name
			points := stillToRun(r.Cell(c, name).Late())
			if len(points) == 0 {
				continue
			}
			if _, err := addLine(p, points, styleOf(r.Engines, name)); err != nil {
				return nil, err
			}
			drawn[name] = true
		}
	}
	if len(drawn) == 0 {
		return nil, nil
	}
	p.X.Min, p.X.Max = min(-1, p.X.Min), max(10, p.X.Max)
	p.Y.Min, p.Y.Max = leastShare, 1
	canvas, all := blank(latenessWidth, latenessHeight)
	legend := drawLegend(r, drawn, all)
	p.Draw(draw.Crop(all, 4, -20, legend, -4))
	return canvas, nil
}

// stillToRun returns the points of a distribution the other way round: what share
// is later, down to the bottom of the plot.
func stillToRun(points []spec.Point) (xys plotter.XYs) {
	for _, p := range points {
		if y := 1 - p.Share; y > leastShare*0.99 { // 1 - 0.9999 is a little less than it should be
			xys = append(xys, plotter.XY{X: p.Ms, Y: max(leastShare, y)})
		}
	}
	return xys
}

// shareTicks marks the shares that people ask for.
var shareTicks = plot.ConstantTicks{
	{Value: 1, Label: "100 %"}, {Value: 0.5, Label: "50 %"}, {Value: 0.1, Label: "10 %"},
	{Value: 0.01, Label: "1 %"}, {Value: 0.001, Label: "0.1 %"}, {Value: 0.0001, Label: "0.01 %"},
}

// symmetric is a scale that is logarithmic far from zero, on both sides, and
// linear close to it.
type symmetric struct{}

// linearMs is how far from zero the scale is about linear.
const linearMs = 0.5

// Normalize implements plot.Normalizer.
func (symmetric) Normalize(low, high, v float64) float64 {
	at := func(v float64) float64 { return math.Asinh(v / linearMs) }
	return (at(v) - at(low)) / (at(high) - at(low))
}

// symmetricTicks marks zero, and powers of ten on both sides.
type symmetricTicks struct{}

// Ticks implements plot.Ticker.
func (symmetricTicks) Ticks(low, high float64) []plot.Tick {
	ticks := []plot.Tick{{Value: 0, Label: "0"}}
	for power := 1.0; power <= max(high, -low); power *= 10 {
		name := whole(power)
		ticks = append(ticks, plot.Tick{Value: power, Label: name}, plot.Tick{Value: -power, Label: "−" + name})
		for step := 2.0; step < 10; step++ {
			ticks = append(ticks, plot.Tick{Value: step * power}, plot.Tick{Value: -step * power})
		}
	}
	kept := ticks[:0]
	for _, t := range ticks {
		if t.Value >= low && t.Value <= high {
			kept = append(kept, t)
		}
	}
	return kept
}

// zero draws the line that no timeout should be left of.
type zero struct{}

// Plot implements plot.Plotter.
func (zero) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	x := toX(0)
	c.StrokeLine2(draw.LineStyle{Color: color.Gray{Y: 0x80}, Width: vg.Length(1)}, x, c.Min.Y, x, c.Max.Y)
	text := p.Legend.TextStyle
	text.XAlign = draw.XRight
	c.FillText(text, vg.Point{X: x - 8, Y: c.Min.Y + 8}, "ran too early")
}
