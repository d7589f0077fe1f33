package report

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// styles are those of the plotted engines: at most six lines per panel, in the palette of
// Okabe and Ito, which color-blind readers can tell apart. Our lines are thick.
var styles = map[string]draw.LineStyle{
	"hashedwheel":  {Color: color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, Width: 3},
	"hierarchical": {Color: color.RGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}, Width: 3},
	"AfterFunc":    {Color: color.RGBA{R: 0x20, G: 0x20, B: 0x20, A: 0xff}, Width: 1.4},
	"RussellLuo":   {Color: color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}, Width: 1.4, Dashes: []vg.Length{6, 3}},
	"antlabs":      {Color: color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, Width: 1.4, Dashes: []vg.Length{2, 2}},
	"Netty":        {Color: color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, Width: 1.4, Dashes: []vg.Length{8, 3, 2, 3}},
}

// blank returns a white canvas and its drawing surface.
func blank(width, height vg.Length) (*vgsvg.Canvas, draw.Canvas) {
	canvas := vgsvg.New(width, height)
	all := draw.New(canvas)
	all.FillPolygon(color.White, []vg.Point{{}, {X: width}, {X: width, Y: height}, {Y: height}})
	return canvas, all
}

// newPlot returns an empty plot with readable fonts.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = 8
	for _, style := range []*draw.TextStyle{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
		style.Font.Size = font.Length(11)
	}
	p.Title.TextStyle.Font.Size = 13
	p.BackgroundColor = color.White
	return p
}

// tickName writes 1000000 as 1M.
func tickName(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= unit.size*0.999 {
			return strconv.FormatFloat(math.Round(v/unit.size), 'f', 0, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
