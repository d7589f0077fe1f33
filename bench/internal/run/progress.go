package run

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	show "github.com/hashedwheel/hwt/internal/cli"
)

// lineEvery is how often progress is logged where there is no terminal.
const lineEvery = 10 * time.Second

// progress shows how far a run is.
type progress struct {
	w      io.Writer
	stop   func()
	rounds int
	round  int // the present one
	began  time.Time

	mu      sync.Mutex
	text    string        // what is measured now
	passed  time.Duration // as estimated
	current time.Duration // the estimate of what is measured now
	total   time.Duration
}

func newProgress(w io.Writer, rounds int, total time.Duration) *progress {
	p := &progress{w: w, rounds: rounds, total: total, began: time.Now()}
	p.stop = show.Follow(w, lineEvery, p.status)
	return p
}

// in takes note of the present round.
func (p *progress) in(round int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.round = round
}

// begin takes note of what is measured now.
func (p *progress) begin(s spec.Spec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed += p.current
	p.current = estimate(s)
	p.text = fmt.Sprintf("round %d/%d  %v", p.round+1, p.rounds, s)
}

// status describes how far the run is.
func (p *progress) status() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.passed == 0 || p.total == 0 {
		return p.text
	}
	share := float64(p.passed) / float64(p.total)
	left := time.Duration(float64(time.Since(p.began)) * (1 - share) / share)
	return fmt.Sprintf("%3.0f%%  %s, about %v left", 100*share, p.text, left.Round(time.Second))
}

// repeat takes note that cells are measured once more.
func (p *progress) repeat(cells []*results.Cell) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cell := range cells {
		p.total += estimate(cell.Spec)
	}
}

// log writes a line between the shows of progress.
func (p *progress) log(format string, args ...any) {
	show.Wipe(p.w)
	fmt.Fprintf(p.w, format+"\n", args...)
}

func (p *progress) end() { p.stop() }
