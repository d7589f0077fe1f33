package report

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// panels are the figures whose growth is plotted.
var panels = []struct{ measure, metric, title, unit string }{
	{spec.Schedule, spec.CPUNs, "Schedule: CPU", "ns"},
	{spec.Cancel, spec.CPUNs, "Schedule and cancel: CPU", "ns"},
	{spec.ResetLater, spec.CPUNs, "Reset to later: CPU", "ns"},
	{spec.ResetEarlier, spec.CPUNs, "Reset to earlier: CPU", "ns"},
	{spec.Heap, spec.HeapBytes, "Heap a timeout", "bytes"},
	{spec.Heap, spec.GCMs, "A GC cycle", "ms"},
}

// The layout of the panels.
const (
	panelColumns = 3
	growthWidth  = 960
	panelHeight  = 284
)

// growth plots the panels over the timeouts that are pending, those that there
// are figures for.
func growth(r *results.Results) (*vgsvg.Canvas, error) {
	var plots []*plot.Plot
	drawn := make(map[string]bool)
	for _, panel := range panels {
		p, err := newPanel(r, newPlot(panel.title, "pending", panel.unit), panel.measure, panel.metric, drawn)
		if err != nil {
			return nil, err
		}
		if p != nil {
			plots = append(plots, p)
		}
	}
	if len(plots) == 0 {
		return nil, nil
	}
	rows := inRows(plots)
	canvas, all := blank(growthWidth, vg.Length(len(rows)*panelHeight)+legendHeight(len(drawn), growthWidth))
	tiles := draw.Tiles{
		Rows: len(rows), Cols: len(rows[0]), PadX: 14, PadY: 14, PadTop: 4, PadRight: 14,
		PadBottom: drawLegend(r, drawn, all), PadLeft: 4,
	}
	for y, line := range plot.Align(rows, tiles, all) {
		for x, tile := range line {
			if rows[y][x] != nil {
				rows[y][x].Draw(tile)
			}
		}
	}
	return canvas, nil
}

// inRows lays plots out in rows of the same length; those missing are nil.
func inRows(plots []*plot.Plot) (rows [][]*plot.Plot) {
	columns := min(panelColumns, len(plots))
	for row := range slices.Chunk(plots, columns) {
		rows = append(rows, append(slices.Clone(row), make([]*plot.Plot, columns-len(row))...))
	}
	return rows
}

// newPanel draws every engine's line on p, and returns nil if there is none.
func newPanel(r *results.Results, p *plot.Plot, measure, metric string, drawn map[string]bool) (*plot.Plot, error) {
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	p.Add(lightGrid())
	low, high := math.Inf(1), 0.0
	for i := len(r.Engines) - 1; i >= 0; i-- {
		name := r.Engines[i].Name
		points := overPending(r, measure, metric, name)
		if len(points) == 0 {
			continue
		}
		for _, point := range points {
			low, high = min(low, point.Y), max(high, point.Y)
		}
		if _, err := addLine(p, points, styleOf(r.Engines, name)); err != nil {
			return nil, err
		}
		drawn[name] = true
	}
	if high == 0 {
		return nil, nil
	}
	p.Y.Min, p.Y.Max = low/1.5, high*1.5
	p.X.Min, p.X.Max = p.X.Min/1.2, p.X.Max*1.2
	return p, nil
}

// overPending returns a metric of one engine and one producer over what is
// pending.
func overPending(r *results.Results, measure, metric, engine string) (points plotter.XYs) {
	for _, c := range r.Cases(measure) {
		s := r.Cell(c, engine).Summary(metric)
		if c.Pending > 0 && c.Producers <= 1 && s.Known() && s.Median > 0 {
			points = append(points, plotter.XY{X: float64(c.Pending), Y: s.Median})
		}
	}
	return points
}

// lightGrid returns a grid that does not compete with the lines.
func lightGrid() *plotter.Grid {
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{Y: 0xdd}, color.Gray{Y: 0xdd}
	return grid
}
