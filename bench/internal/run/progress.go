package run

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// lineEvery is how often progress is told where there is no terminal.
const lineEvery = 10 * time.Second

// progress shows how far a run is, and how long it will still take.
type progress struct {
	w      io.Writer
	bar    *progressbar.ProgressBar // nil: plain lines
	rounds int
	told   time.Time
	left   forecast
}

func newProgress(w io.Writer, cells []*results.Cell, rounds int) *progress {
	p := &progress{w: w, rounds: rounds, told: time.Now(), left: newForecast(cells, rounds)}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions(1000, progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(20),
			progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish())
	}
	return p
}

// begin shows what is measured now.
func (p *progress) begin(round int, s spec.Spec) {
	left := p.left.remaining()
	text := fmt.Sprintf("round %d/%d  %-32s about %v left", round+1, p.rounds, s, left.Round(time.Second))
	switch {
	case p.bar != nil:
		p.bar.Describe(text)
		_ = p.bar.Set(int(1000 * p.left.share())) // decoration: it may fail
	case time.Since(p.told) >= lineEvery:
		p.told = time.Now()
		fmt.Fprintf(p.w, "%3.0f%%  %s\n", 100*p.left.share(), text)
	}
}

// done takes note of what a measurement took, and tells if it failed.
func (p *progress) done(cell *results.Cell, took time.Duration) {
	p.left.done(cell, took)
	if failure := cell.Failure(); failure != "" {
		if p.bar != nil {
			_ = p.bar.Clear()
		}
		fmt.Fprintf(p.w, "%v: %s\n", cell.Spec, failure)
	}
}

// skip takes note that a cell is not measured after all.
func (p *progress) skip(cell *results.Cell) { p.left.cells[cell] = 0 }

func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// forecast tells how long the rest takes: what was measured before takes as long
// again, and the rest as much longer than guessed as what was measured.
type forecast struct {
	cells   map[*results.Cell]int           // rounds still to come
	took    map[*results.Cell]time.Duration // the last round
	passed  time.Duration
	guessed time.Duration // for what has passed
}

func newForecast(cells []*results.Cell, n int) forecast {
	f := forecast{cells: make(map[*results.Cell]int), took: make(map[*results.Cell]time.Duration)}
	for _, cell := range cells {
		f.cells[cell] = rounds(cell.Spec, n)
	}
	return f
}

func (f *forecast) done(cell *results.Cell, took time.Duration) {
	f.cells[cell]--
	if cell.Failure() != "" {
		f.cells[cell] = 0
	}
	if f.took[cell] == 0 {
		f.guessed += estimate(cell.Spec)
	} else {
		f.guessed += f.took[cell]
	}
	f.took[cell] = took
	f.passed += took
}

func (f *forecast) remaining() time.Duration {
	slower := 1.0
	if f.guessed > 0 {
		slower = float64(f.passed) / float64(f.guessed)
	}
	var left float64
	for cell, rounds := range f.cells {
		if took := f.took[cell]; took > 0 {
			left += float64(rounds) * float64(took)
		} else {
			left += float64(rounds) * float64(estimate(cell.Spec)) * slower
		}
	}
	return time.Duration(left)
}

// share returns how much of the run has passed, from 0 to 1.
func (f *forecast) share() float64 {
	return float64(f.passed) / max(1, float64(f.passed+f.remaining()))
}
