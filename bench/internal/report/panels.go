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
)

// The layout of plots.
const (
	plotWidth     = 960
	panelHeight   = 284
	legendEach    = 160
	legendColumns = plotWidth / legendEach
	legendRow     = 22
	legendPad     = 16
)

// panel is one of several plots, with a line per engine on logarithmic scales.
type panel struct {
	title, x, y string
	shares      bool // y is a share
	points      func(engine string) plotter.XYs
}

// drawPanels draws the panels that have lines in rows, which must become full, with a legend
// below. Without any lines the canvas is nil.
func drawPanels(r *results.Results, columns int, height vg.Length, panels []panel) (*vgsvg.Canvas, error) {
	var plots []*plot.Plot
	drawn := make(map[string]bool)
	for _, panel := range panels {
		p, err := panel.plot(r, drawn)
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
	rows := slices.Collect(slices.Chunk(plots, min(columns, len(plots))))
	legend := legendHeight(len(drawn))
	canvas, all := blank(plotWidth, vg.Length(len(rows))*height+legend)
	drawLegend(r, drawn, all, legend)
	tiles := draw.Tiles{
		Rows: len(rows), Cols: len(rows[0]), PadX: 14, PadY: 14, PadTop: 4, PadRight: 20, PadBottom: legend, PadLeft: 4,
	}
	for y, line := range plot.Align(rows, tiles, all) {
		for x, tile := range line {
			rows[y][x].Draw(tile)
		}
	}
	return canvas, nil
}

// plot draws every engine's line, ours last so that they lie on top, and returns nil if
// it has no points.
func (n panel) plot(r *results.Results, drawn map[string]bool) (*plot.Plot, error) {
	p := newPlot(n.title, n.x, n.y)
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{Y: 0xdd}, color.Gray{Y: 0xdd}
	p.Add(grid)
	any := false
	for _, k := range slices.Backward(r.Engines) {
		style, plotted := styles[k.Name]
		if !plotted {
			continue
		}
		points := n.points(k.Name)
		if len(points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.LineStyle = style
		p.Add(line)
		if !n.shares {
			dots.Shape, dots.Color, dots.Radius = draw.CircleGlyph{}, line.Color, 2.2
			p.Add(dots)
		}
		any, drawn[k.Name] = true, true
	}
	if !any {
		return nil, nil
	}
	if n.shares {
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = leastShare, 1, shareTicks
		p.X.Max = max(10, p.X.Max)
		return p, nil
	}
	p.X.Min, p.X.Max = p.X.Min/1.2, p.X.Max*1.2
	p.Y.Min, p.Y.Max = p.Y.Min/1.5, p.Y.Max*1.5
	return p, nil
}

// shareTicks marks the usual shares.
var shareTicks = plot.ConstantTicks{
	{Value: 1, Label: "100 %"}, {Value: 0.5, Label: "50 %"}, {Value: 0.1, Label: "10 %"},
	{Value: 0.01, Label: "1 %"}, {Value: 0.001, Label: "0.1 %"}, {Value: 0.0001, Label: "0.01 %"},
}

// logTicks labels powers of ten and, over a short range, also 2 and 5 times those powers.
type logTicks struct{}

func (logTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	few := high/low < 150 // too few powers of ten to read values by
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for step := 1.0; step < 10; step++ {
			tick := plot.Tick{Value: step * power}
			if step == 1 || few && (step == 2 || step == 5) {
				tick.Label = tickName(tick.Value)
			}
			if tick.Value >= low*0.999 && tick.Value <= high*1.001 {
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}

// legendHeight returns the height of a legend.
func legendHeight(engines int) vg.Length {
	return vg.Length((engines+legendColumns-1)/legendColumns*legendRow + legendPad)
}

// drawLegend names the engines at the bottom of the canvas.
func drawLegend(r *results.Results, drawn map[string]bool, c draw.Canvas, height vg.Length) {
	style := newPlot("", "", "").Legend.TextStyle
	style.YAlign = draw.YCenter
	i := 0
	for _, k := range r.Engines {
		if !drawn[k.Name] {
			continue
		}
		x := vg.Length(20 + i%legendColumns*legendEach)
		y := height - vg.Length(legendPad+i/legendColumns*legendRow)
		c.StrokeLine2(styles[k.Name], x, y, x+32, y)
		c.FillText(style, vg.Point{X: x + 40, Y: y}, k.Name)
		i++
	}
}
