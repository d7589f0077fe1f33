package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// The files.
const (
	cancelPlot    = "benchmarks-cancel.svg"
	growthPlot    = "benchmarks-growth.svg"
	latenessPlot  = "benchmarks-lateness.svg"
	sustainedPlot = "benchmarks-sustained.svg"
)

// captions say what to see in the plots.
var captions = map[string]string{
	cancelPlot: "Further left is cheaper, ours are the coloured dots. The scale is logarithmic: a little further\n" +
		"right stands for much more.",
	growthPlot: "Lower is better, ours are the thick lines. A level line costs the same however many timeouts\n" +
		"are pending. Both scales are logarithmic.",
	latenessPlot: "Further left is better, ours are the thick lines. Where a line crosses 1 %, all but one timeout\n" +
		"in a hundred had run. Lines of wheels with the same tick may hide each other. Both scales are logarithmic.",
	sustainedPlot: "Lower is better, ours are the thick lines. Where a line turns up, the engine falls behind.\n" +
		"Both scales are logarithmic.",
}

// inTheDark makes a page's dark theme invert the plots, with the hues kept.
const inTheDark = `<style>@media (prefers-color-scheme: dark) { svg { filter: invert(0.92) hue-rotate(180deg) } }</style>`

// drawAll draws the plots that there are figures for, and returns their names.
func drawAll(r *results.Results, dir string) (drawn []string, err error) {
	for name, draw := range map[string]func(*results.Results) (*vgsvg.Canvas, error){
		cancelPlot: cancelDots, growthPlot: growth, latenessPlot: lateness, sustainedPlot: sustained,
	} {
		canvas, err := draw(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if canvas == nil {
			continue
		}
		if err := save(canvas, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
		drawn = append(drawn, name)
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

// growth plots figures over the timeouts that are pending.
func growth(r *results.Results) (*vgsvg.Canvas, error) {
	over := func(measure, metric, title, unit string) panel {
		return panel{title: title, x: "pending", y: unit, points: func(engine string) plotter.XYs {
			return pointsOf(r, measure, metric, engine, func(c spec.Spec) (x int, ok bool) { return c.Pending, c.Producers <= 1 })
		}}
	}
	return drawPanels(r, 3, panelHeight, []panel{
		over(spec.Schedule, spec.CPUNs, "Schedule: CPU", "ns"),
		over(spec.Cancel, spec.CPUNs, "Schedule and cancel: CPU", "ns"),
		over(spec.ResetLater, spec.CPUNs, "Reset to later: CPU", "ns"),
		over(spec.ResetEarlier, spec.CPUNs, "Reset to earlier: CPU", "ns"),
		over(spec.Heap, spec.HeapBytes, "Heap a timeout", "bytes"),
		over(spec.Heap, spec.GCMs, "A GC cycle", "ms"),
	})
}

// sustained plots the lateness over the rate, a panel for each delay and number of
// producers.
func sustained(r *results.Results) (*vgsvg.Canvas, error) {
	var panels []panel
	for _, cases := range grouped(r.Cases(spec.Sustained)) {
		if len(cases) < 2 {
			continue
		}
		panels = append(panels, panel{
			title: "p99 of the lateness" + groupTitle(cases[0]), x: "timeouts a second", y: "ms",
			points: func(engine string) plotter.XYs {
				return pointsOf(r, spec.Sustained, spec.LateP99, engine, func(c spec.Spec) (x int, ok bool) {
					return c.Rate, groupOf(c) == groupOf(cases[0])
				})
			},
		})
	}
	return drawPanels(r, 2, panelHeight+60, panels)
}

// pointsOf returns a metric of an engine over what x returns of a case.
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
	// soonest is the left edge of the plot of lateness. What ran sooner, or early, is
	// drawn there.
	soonest = 0.01 // ms

	// leastShare is the bottom of the plot of lateness: one in ten thousand.
	leastShare = 0.0001
)

// lateness plots for each engine the share of its timeouts that had still to run so
// long after their deadlines. On logarithmic scales the tails can be read, which are
// what engines differ in.
func lateness(r *results.Results) (*vgsvg.Canvas, error) {
	var panels []panel
	for _, c := range r.Cases(spec.Expire) {
		panels = append(panels, panel{
			title: "Due within one second: how late they run", x: "lateness, ms (early: at the left edge)", y: "timeouts still to run",
			shares: true,
			points: func(engine string) plotter.XYs { return stillToRun(r.Cell(c, engine).Lateness()) },
		})
	}
	return drawPanels(r, 1, 440, panels)
}

// stillToRun returns the points of a distribution the other way round: what share is
// later, down to the bottom of the plot.
func stillToRun(late []float64) (points plotter.XYs) {
	for i, ms := range late {
		if share := 1 - spec.Shares[i]; share > leastShare*0.99 { // 1 - 0.9999 is a little less than it should be
			points = append(points, plotter.XY{X: max(soonest, ms), Y: max(leastShare, share)})
		}
	}
	return points
}
