package report

import (
	"cmp"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
	"github.com/hashedwheel/hwt/internal/cli"
)

// pale is the colour of rivals' dots.
var pale = color.RGBA{R: 0x8a, G: 0x9a, B: 0xac, A: 0xff}

// dot is one engine's figure.
type dot struct {
	name    string
	summary stats.Summary
	fill    color.Color
}

// cancelDots plots what schedule and cancel cost on the largest background up to
// a million, a panel for each number of producers.
func cancelDots(r *results.Results) (*vgsvg.Canvas, error) {
	best := make(map[int]spec.Spec)
	for _, c := range r.Cases(spec.Cancel) {
		if c.Pending <= 1e6 && c.Pending >= best[c.Producers].Pending {
			best[c.Producers] = c
		}
	}
	var plots []*plot.Plot
	for _, producers := range []int{1, 2} {
		if dots := dotsOf(r, best[producers]); len(dots) > 0 {
			plots = append(plots, dotPlot(conditions(best[producers]), dots))
		}
	}
	if len(plots) == 0 {
		return nil, nil
	}
	canvas, all := blank(vg.Length(480*len(plots)), 340)
	tiles := draw.Tiles{Rows: 1, Cols: len(plots), PadX: 16, PadTop: 6, PadBottom: 6, PadLeft: 24, PadRight: 16}
	for i, tile := range plot.Align([][]*plot.Plot{plots}, tiles, all)[0] {
		plots[i].Draw(tile)
	}
	return canvas, nil
}

// dotsOf returns the dots of a case, the least on top.
func dotsOf(r *results.Results, c spec.Spec) (dots []dot) {
	for _, k := range r.Engines {
		d := dot{k.Name, r.Cell(c, k.Name).Summary(spec.CPUNs), pale}
		if k.Ours {
			d.fill = styleOf(r.Engines, k.Name).Color
		}
		if d.summary.Known() {
			dots = append(dots, d)
		}
	}
	slices.SortFunc(dots, func(a, b dot) int { return -cmp.Compare(a.summary.Median, b.summary.Median) })
	return dots
}

func dotPlot(conditions string, dots []dot) *plot.Plot {
	p := newPlot("Schedule and cancel: "+conditions, "CPU, ns, on a logarithmic scale (line: least to greatest)", "")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{}
	names := make([]string, len(dots))
	low, high := dots[0].summary.Min, 0.0
	for i, d := range dots {
		names[i] = d.name
		low, high = min(low, d.summary.Min), max(high, d.summary.Max)
	}
	p.Add(dotChart(dots))
	p.NominalY(names...)
	p.X.Min, p.X.Max = low/1.5, high*1.8 // room for the figures
	p.Y.Min, p.Y.Max, p.Y.Padding = -0.6, float64(len(dots))-0.4, 10
	return p
}

// dotChart draws a dot for each figure, which stands beside it. On a logarithmic scale,
// which has no zero, the length of a bar would mean nothing.
type dotChart []dot

// Plot implements plot.Plotter.
func (dots dotChart) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	text := p.Legend.TextStyle
	text.YAlign = draw.YCenter
	guide := draw.LineStyle{Color: color.Gray{Y: 0xe4}, Width: 1}
	for i, d := range dots {
		at := vg.Point{X: toX(d.summary.Median), Y: toY(float64(i))}
		least, most := toX(d.summary.Min), toX(d.summary.Max)
		c.StrokeLine2(guide, c.Min.X, at.Y, c.Max.X, at.Y)
		c.StrokeLine2(draw.LineStyle{Color: d.fill, Width: 2}, least, at.Y, most, at.Y)
		c.DrawGlyph(draw.GlyphStyle{Color: d.fill, Radius: 5, Shape: draw.CircleGlyph{}}, at)
		c.FillText(text, vg.Point{X: max(most, at.X+5) + 5, Y: at.Y}, cli.Number(d.summary.Median))
	}
}
