package report

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/hashedwheel/hwt/bench/internal/engines"
)

// The colours of our engines, which are strong, and of rivals, which are not.
var (
	ourColours = []color.Color{
		color.RGBA{R: 0xd0, G: 0x20, B: 0x20, A: 0xff},
		color.RGBA{R: 0xf0, G: 0x80, B: 0x00, A: 0xff},
		color.RGBA{R: 0xb0, G: 0x30, B: 0xb0, A: 0xff},
	}
	rivalColours = []color.Color{
		color.RGBA{R: 0x30, G: 0x30, B: 0x30, A: 0xff},
		color.RGBA{R: 0x1f, G: 0x77, B: 0xb4, A: 0xff},
		color.RGBA{R: 0x2c, G: 0xa0, B: 0x2c, A: 0xff},
		color.RGBA{R: 0x17, G: 0xbe, B: 0xcf, A: 0xff},
		color.RGBA{R: 0x8c, G: 0x56, B: 0x4b, A: 0xff},
		color.RGBA{R: 0x7f, G: 0x7f, B: 0x7f, A: 0xff},
		color.RGBA{R: 0x9a, G: 0x9b, B: 0x10, A: 0xff},
	}
	rivalDashes = [][]vg.Length{nil, {6, 3}, {2, 2}, {8, 3, 2, 3}}
)

// styleOf returns how an engine is drawn: the same in all plots.
func styleOf(kinds []engines.Kind, name string) draw.LineStyle {
	ours, rivals := 0, 0
	for _, k := range kinds {
		if k.Name == name {
			if k.Ours {
				return draw.LineStyle{Color: ourColours[ours%len(ourColours)], Width: 3}
			}
			return draw.LineStyle{
				Color: rivalColours[rivals%len(rivalColours)], Width: 1.4, Dashes: rivalDashes[rivals%len(rivalDashes)],
			}
		}
		if k.Ours {
			ours++
		} else {
			rivals++
		}
	}
	return draw.LineStyle{}
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
	p.Legend.ThumbnailWidth = 30
	p.BackgroundColor = color.White
	return p
}

// logTicks marks powers of ten with plain numbers, and the steps between them
// without; over a short range, 2 and 5 times those powers too.
type logTicks struct{}

func (logTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	few := high/low < 50 // too few powers of ten to read values by
	every := math.Ceil((last - first) / 9)
	for e := first; e <= last; e++ {
		power := math.Pow(10, e)
		name := ""
		if math.Mod(e-first, every) == 0 {
			name = tickName(power)
		}
		ticks = append(ticks, plot.Tick{Value: power, Label: name})
		for step := 2.0; step < 10; step++ {
			tick := plot.Tick{Value: step * power}
			if few && (step == 2 || step == 5) {
				tick.Label = tickName(tick.Value)
			}
			ticks = append(ticks, tick)
		}
	}
	return within(ticks, low, high)
}

// within drops the ticks that are out of range.
func within(ticks []plot.Tick, low, high float64) (kept []plot.Tick) {
	for _, t := range ticks {
		if t.Value >= low*0.999 && t.Value <= high*1.001 {
			kept = append(kept, t)
		}
	}
	return kept
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
