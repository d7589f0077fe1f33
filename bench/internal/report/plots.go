package report

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/hashedwheel/hwt/bench/internal/results"
)

// The files.
const (
	latenessPlot = "benchmarks-lateness.svg"
	cancelPlot   = "benchmarks-cancel.svg"
	growthPlot   = "benchmarks-growth.svg"
)

// drawAll draws the plots that there are figures for, and returns their names.
func drawAll(r *results.Results, dir string) (map[string]bool, error) {
	drawn := make(map[string]bool)
	for name, plot := range map[string]func(*results.Results) (*vgsvg.Canvas, error){
		latenessPlot: lateness, cancelPlot: cancelBars, growthPlot: growth,
	} {
		canvas, err := plot(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if canvas == nil {
			continue
		}
		if err := save(canvas, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
		drawn[name] = true
	}
	return drawn, nil
}

// save writes the canvas to a file.
func save(canvas *vgsvg.Canvas, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := canvas.WriteTo(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// blank returns a white canvas, and what draws on it.
func blank(width, height vg.Length) (*vgsvg.Canvas, draw.Canvas) {
	canvas := vgsvg.New(width, height)
	all := draw.New(canvas)
	all.FillPolygon(color.White, []vg.Point{{}, {X: width}, {X: width, Y: height}, {Y: height}})
	return canvas, all
}

// addLine adds an engine's line to a plot.
func addLine(p *plot.Plot, points plotter.XYs, style draw.LineStyle) (*plotter.Line, error) {
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	line.LineStyle = style
	p.Add(line)
	return line, nil
}
