package report

import (
	"bytes"
	"image/color"
	"os"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgsvg" // the format

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// plotFile is the plot of the page.
const plotFile = "benchmarks-lateness.svg"

const (
	soonest    = 0.01   // ms: the left edge, with the early timeouts
	leastShare = 0.0001 // the bottom
)

// styles are the plotted engines: at most six, in the palette of Okabe and Ito, which
// color-blind readers can tell apart. Our lines are thick.
var styles = map[string]draw.LineStyle{
	"hashedwheel":  {Color: color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, Width: 3},
	"hierarchical": {Color: color.RGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}, Width: 3},
	"AfterFunc":    {Color: color.RGBA{R: 0x20, G: 0x20, B: 0x20, A: 0xff}, Width: 1.4},
	"RussellLuo":   {Color: color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}, Width: 1.4, Dashes: []vg.Length{6, 3}},
	"antlabs":      {Color: color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, Width: 1.4, Dashes: []vg.Length{2, 2}},
	"Netty":        {Color: color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, Width: 1.4, Dashes: []vg.Length{8, 3, 2, 3}},
}

// drawLateness plots the share of a million timeouts that had not run, over the time since their
// deadlines. Logarithmic scales show the tails, in which engines differ. It reports false, and
// writes nothing, without data.
func drawLateness(r *results.Results, file string) (drawn bool, err error) {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "lateness, ms (early: at the left edge)", "timeouts not yet run"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.ConstantTicks{
		{Value: 1, Label: "100 %"}, {Value: 0.1, Label: "10 %"}, {Value: 0.01, Label: "1 %"},
		{Value: 0.001, Label: "0.1 %"}, {Value: 0.0001, Label: "0.01 %"},
	}
	p.Add(plotter.NewGrid())
	p.Legend.Left = true
	for _, c := range r.Cases(spec.Expire) {
		for _, k := range slices.Backward(r.Engines) { // ours last, on top
			style, plotted := styles[k.Name]
			points := stillToRun(r.Cell(c, k.Name).Lateness())
			if !plotted || len(points) == 0 {
				continue
			}
			line, err := plotter.NewLine(points)
			if err != nil {
				return false, err
			}
			line.LineStyle = style
			p.Add(line)
			p.Legend.Add(k.Name, line)
			drawn = true
		}
	}
	if !drawn {
		return false, nil
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = soonest, max(10, p.X.Max), leastShare, 1
	picture, err := p.WriterTo(9*vg.Inch, 5*vg.Inch, "svg")
	if err != nil {
		return false, err
	}
	var text bytes.Buffer
	if _, err := picture.WriteTo(&text); err != nil {
		return false, err
	}
	return true, os.WriteFile(file, text.Bytes(), 0o644)
}

// stillToRun returns the complement of a distribution: the share that is later.
func stillToRun(late []float64) (points plotter.XYs) {
	for i, ms := range late {
		if share := 1 - spec.Shares[i]; share > leastShare*0.99 { // 1 - 0.9999 is rounded down
			points = append(points, plotter.XY{X: max(soonest, ms), Y: max(leastShare, share)})
		}
	}
	return points
}
