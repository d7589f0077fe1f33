package report

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/hashedwheel/hwt/bench/internal/results"
)

// The layout of legends.
const (
	legendEach = 180
	legendRow  = 22
	legendPad  = 16
)

// legendHeight returns the height of a legend of so many engines.
func legendHeight(engines int, width vg.Length) vg.Length {
	columns := legendColumns(width)
	return vg.Length((engines+columns-1)/columns*legendRow + legendPad)
}

func legendColumns(width vg.Length) int { return max(1, int(width)/legendEach) }

// drawLegend names the engines at the bottom of the canvas, below the plots and
// not among their lines, and returns how much of the height it takes.
func drawLegend(r *results.Results, drawn map[string]bool, c draw.Canvas) vg.Length {
	style := newPlot("", "", "").Legend.TextStyle
	style.YAlign = draw.YCenter
	width := c.Max.X - c.Min.X
	columns, height := legendColumns(width), legendHeight(len(drawn), width)
	i := 0
	for _, k := range r.Engines {
		if !drawn[k.Name] {
			continue
		}
		x := vg.Length(20 + i%columns*legendEach)
		y := height - vg.Length(legendPad+i/columns*legendRow)
		c.StrokeLine2(styleOf(r.Engines, k.Name), x, y, x+36, y)
		c.FillText(style, vg.Point{X: x + 44, Y: y}, k.Name)
		i++
	}
	return height
}
