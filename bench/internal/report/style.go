package report

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/hashedwheel/hwt/bench/internal/engines"
)

// The colours of our engines, which are strong, and of rivals, which are not.
var (
	ourColours   = colours(0xd02020, 0xf08000, 0xb030b0, 0xe06090, 0x801010)
	rivalColours = colours(0x303030, 0x1f77b4, 0x2ca02c, 0x17becf, 0x8c564b, 0x7f7f7f, 0x9a9b10, 0x3b3f9a)
	rivalDashes  = [][]vg.Length{nil, {6, 3}, {2, 2}, {8, 3, 2, 3}}
)

func colours(hex ...uint32) (list []color.Color) {
	for _, c := range hex {
		list = append(list, color.RGBA{R: uint8(c >> 16), G: uint8(c >> 8), B: uint8(c), A: 0xff})
	}
	return list
}

// styleOf returns how an engine is drawn: the same in all plots.
func styleOf(kinds []engines.Kind, name string) draw.LineStyle {
	i := slices.IndexFunc(kinds, func(k engines.Kind) bool { return k.Name == name })
	if i < 0 {
		return draw.LineStyle{}
	}
	nth := 0 // among ours, or among the rivals
	for _, k := range kinds[:i] {
		if k.Ours == kinds[i].Ours {
			nth++
		}
	}
	if kinds[i].Ours {
		return draw.LineStyle{Color: ourColours[nth%len(ourColours)], Width: 3}
	}
	return draw.LineStyle{
		Color: rivalColours[nth%len(rivalColours)], Width: 1.4, Dashes: rivalDashes[nth%len(rivalDashes)],
	}
}

// blank returns a white canvas, and what draws on it.
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
