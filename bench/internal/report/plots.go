package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// drawing is a plot on the page.
type drawing struct{ File, Caption string }

// plots draw the drawings.
var plots = []struct {
	drawing
	draw func(*results.Results) (*vgsvg.Canvas, error)
}{
	{drawing{"benchmarks-growth.svg", "Cost by the number of pending timeouts: lower is better, both scales are logarithmic"}, growth},
	{drawing{"benchmarks-lateness.svg", "Lateness of a million timeouts due within one second: further left is better, both scales are logarithmic"}, lateness},
	{drawing{"benchmarks-sustained.svg", "Lateness at sustained rates: lower is better, both scales are logarithmic"}, sustained},
}

// inTheDark inverts the plots in a dark theme and keeps their hues.
const inTheDark = `<style>@media (prefers-color-scheme: dark) { svg { filter: invert(0.92) hue-rotate(180deg) } }</style>`

// drawAll draws the plots that have data.
func drawAll(r *results.Results, dir string) (drawn []drawing, err error) {
	for _, p := range plots {
		canvas, err := p.draw(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.File, err)
		}
		if canvas == nil {
			continue
		}
		if err := save(canvas, filepath.Join(dir, p.File)); err != nil {
			return nil, err
		}
		drawn = append(drawn, p.drawing)
	}
	return drawn, nil
}

func save(canvas *vgsvg.Canvas, path string) error {
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	drawing := bytes.Replace(b.Bytes(), []byte("\n<g "), []byte("\n"+inTheDark+"\n<g "), 1) // the first in the image
	return os.WriteFile(path, drawing, 0o644)
}

// growth plots costs over the number of pending timeouts.
func growth(r *results.Results) (*vgsvg.Canvas, error) {
	over := func(measure, metric, title, unit string) panel {
		return panel{title: title, x: "pending", y: unit, points: func(engine string) plotter.XYs {
			return pointsOf(r, measure, metric, engine, func(c spec.Spec) (x int, ok bool) { return c.Pending, c.Producers <= 1 })
		}}
	}
	return drawPanels(r, 3, panelHeight, []panel{
		over(spec.Cancel, spec.CPUNs, "Schedule and cancel: CPU", "ns"),
		over(spec.Heap, spec.HeapBytes, "Heap per timeout", "bytes"),
		over(spec.Heap, spec.GCMs, "Garbage collection", "ms"),
	})
}

// sustained plots the lateness over the rate.
func sustained(r *results.Results) (*vgsvg.Canvas, error) {
	over := func(metric, title string) panel {
		return panel{title: title, x: "timeouts per second", y: "ms", points: func(engine string) plotter.XYs {
			return pointsOf(r, spec.Sustained, metric, engine, func(c spec.Spec) (x int, ok bool) { return c.Rate, c.Producers == 2 && c.Delay == shortDelay })
		}}
	}
	return drawPanels(r, 2, panelHeight, []panel{
		over(spec.LateP50, "Sustained rates: lateness p50"), over(spec.LateP99, "Sustained rates: lateness p99"),
	})
}

// shortDelay is the delay of the plotted rates.
const shortDelay = 100 * time.Millisecond

// pointsOf returns a metric of an engine over the x of each case.
func pointsOf(
	r *results.Results, measure, metric, engine string, x func(spec.Spec) (int, bool),
) (points plotter.XYs) {
	for _, c := range r.Cases(measure) {
		s := r.Cell(c, engine).Summary(metric)
		if x, ok := x(c); ok && x > 0 && s.Known() && s.Median > 0 {
			points = append(points, plotter.XY{X: float64(x), Y: s.Median})
		}
	}
	return points
}

const (
	// soonest is the left edge of the lateness plot, which also shows early timeouts.
	soonest = 0.01 // ms

	// leastShare is the bottom of the lateness plot: one in ten thousand.
	leastShare = 0.0001
)

// lateness plots the share of timeouts that had not run over the time since their deadlines.
// Logarithmic scales show the tails, in which engines differ.
func lateness(r *results.Results) (*vgsvg.Canvas, error) {
	var panels []panel
	for _, c := range r.Cases(spec.Expire) {
		panels = append(panels, panel{
			title: "Due within one second", x: "lateness, ms (early: at the left edge)", y: "timeouts not yet run",
			shares: true,
			points: func(engine string) plotter.XYs { return stillToRun(r.Cell(c, engine).Lateness()) },
		})
	}
	return drawPanels(r, 1, 440, panels)
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
