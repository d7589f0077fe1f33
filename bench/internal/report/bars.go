package report

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
)

// bar is one engine's figure.
type bar struct {
	name    string
	summary stats.Summary
	fill    color.Color
}

// cancelBars plots what schedule and cancel cost on the largest background up to
// a million, a panel for each number of producers.
func cancelBars(r *results.Results) (*vgsvg.Canvas, error) {
	best := make(map[int]spec.Spec)
	for _, c := range r.Cases(spec.Cancel) {
		if c.Pending <= 1e6 && c.Pending >= best[c.Producers].Pending {
			best[c.Producers] = c
		}
	}
	var plots []*plot.Plot
	for _, producers := range []int{1, 2} {
		if bars := barsOf(r, best[producers]); len(bars) > 0 {
			plots = append(plots, barPlot(conditions(best[producers]), bars))
		}
	}
	if len(plots) == 0 {
		return nil, nil
	}
	canvas := vgsvg.New(vg.Length(480*len(plots)), 320)
	tiles := draw.Tiles{Rows: 1, Cols: len(plots), PadX: 16, PadTop: 6, PadBottom: 6, PadLeft: 24, PadRight: 16}
	for i, tile := range plot.Align([][]*plot.Plot{plots}, tiles, draw.New(canvas))[0] {
		plots[i].Draw(tile)
	}
	return canvas, nil
}

// fillOf returns the colour of an engine's bar: its own for ours, a pale one for
// rivals.
func fillOf(kinds []engines.Kind, k engines.Kind) color.Color {
	if k.Ours {
		return styleOf(kinds, k.Name).Color
	}
	return color.RGBA{R: 0xb8, G: 0xc4, B: 0xd0, A: 0xff}
}

// barsOf returns the bars of a case, the least on top.
func barsOf(r *results.Results, c spec.Spec) (bars []bar) {
	for _, k := range r.Engines {
		if s := r.Cell(c, k.Name).Summary(spec.CPUNs); s.Known() {
			bars = append(bars, bar{k.Name, s, fillOf(r.Engines, k)})
		}
	}
	slices.SortFunc(bars, func(a, b bar) int { return -cmp.Compare(a.summary.Median, b.summary.Median) })
	return bars
}

func barPlot(conditions string, bars []bar) *plot.Plot {
	p := newPlot("Schedule and cancel: "+conditions, "process CPU, ns (bar: median, line: least to greatest)", "")
	p.Add(barChart(bars))
	names := make([]string, len(bars))
	for i, b := range bars {
		names[i] = b.name
		p.X.Max = max(p.X.Max, b.summary.Max)
	}
	p.NominalY(names...)
	p.X.Min = 0
	p.X.Max *= 1.18 // room for the figures
	p.Y.Padding = 10
	p.Y.Min, p.Y.Max = -0.6, float64(len(bars))-0.4
	return p
}

// barChart draws horizontal bars, with the figure beside each.
type barChart []bar

// Plot implements plot.Plotter.
func (bars barChart) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	text := p.Legend.TextStyle
	text.YAlign = draw.YCenter
	half := (toY(1) - toY(0)) * 0.36
	for i, b := range bars {
		y := toY(float64(i))
		end := toX(b.summary.Median)
		c.FillPolygon(b.fill, []vg.Point{{X: toX(0), Y: y - half}, {X: end, Y: y - half}, {X: end, Y: y + half}, {X: toX(0), Y: y + half}})
		c.StrokeLine2(draw.LineStyle{Color: color.Black, Width: 1}, toX(b.summary.Min), y, toX(b.summary.Max), y)
		c.FillText(text, vg.Point{X: toX(b.summary.Max) + 5, Y: y}, fmt.Sprintf("%.0f", b.summary.Median))
	}
}

// DataRange implements plot.DataRanger.
func (bars barChart) DataRange() (xmin, xmax, ymin, ymax float64) {
	for _, b := range bars {
		xmax = math.Max(xmax, b.summary.Max)
	}
	return 0, xmax, 0, float64(len(bars) - 1)
}
