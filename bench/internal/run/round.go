package run

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

const (
	// mostRepeats is how often a stretch is repeated at most.
	mostRepeats = 2

	// mayMove is the ratio of the floors at the ends of a stretch above which the
	// stretch is repeated.
	mayMove = 1.25

	// stretchTime is how long a stretch is at least.
	stretchTime = 2 * time.Minute

	// floorLooks is how often the floor is measured, of which the least counts: a single
	// disturbance does not.
	floorLooks = 3
)

// samples are those of the cells of one stretch.
type samples map[*results.Cell]spec.Sample

// measure fills the cells, round by round.
func (r *runner) measure(ctx context.Context) error {
	progress := newProgress(r.options.Log, r.options.Rounds, r.estimate())
	defer progress.end()
	for number := range r.options.Rounds {
		if err := r.round(ctx, number, progress); err != nil {
			return err
		}
	}
	return nil
}

// estimate returns about how long all rounds take.
func (r *runner) estimate() (all time.Duration) {
	for number := range r.options.Rounds {
		for _, cell := range r.results.Cells {
			if r.lacks(cell, number) {
				all += estimate(cell.Spec)
			}
		}
	}
	return all
}

// round measures each cell once, stretch by stretch. A stretch is some minutes of
// cases, with the floor measured before and after it. It counts once it is complete
// and the floor has not moved meanwhile, so that an interruption loses little.
func (r *runner) round(ctx context.Context, number int, p *progress) error {
	cells := slices.DeleteFunc(inTurn(r.results.Cells, number), func(c *results.Cell) bool { return !r.lacks(c, number) })
	if len(cells) == 0 {
		return nil
	}
	p.in(number)
	floor, err := r.floor(ctx)
	for err == nil && len(cells) > 0 {
		var n int
		n, floor, err = r.steadyStretch(ctx, number, floor, cells, p)
		cells = cells[n:]
	}
	return err
}

// steadyStretch makes a stretch of the cells' first cases, and repeats it if the floor
// moved. It returns how many cells it measured, and the floor at its end.
func (r *runner) steadyStretch(ctx context.Context, number int, before float64, cells []*results.Cell, p *progress) (int, float64, error) {
	for repeated := 0; ; repeated++ {
		made, err := r.stretch(ctx, cells, p)
		if err != nil {
			return 0, 0, err
		}
		after, err := r.floor(ctx)
		if err != nil {
			return 0, 0, err
		}
		cells = cells[:len(made)] // what is repeated is the same
		if max(before, after) <= min(before, after)*mayMove || repeated == mostRepeats {
			r.keep(number, made, results.Stretch{Before: before, After: after, Repeated: repeated})
			return len(made), after, nil
		}
		r.log("the floor moved from %.0f to %.0f ns: %d measurements are repeated", before, after, len(made))
		p.repeat(cells)
		before = after
	}
}

// keep adds a stretch to the results.
func (r *runner) keep(number int, made samples, stretch results.Stretch) {
	for cell, sample := range made {
		cell.Add(sample)
	}
	if len(r.results.Rounds) == number {
		r.results.Rounds = append(r.results.Rounds, results.Round{})
	}
	if r.options.Steady {
		round := &r.results.Rounds[number]
		round.Stretches = append(round.Stretches, stretch)
	}
}

// stretch measures the cells' first cases, each once, until stretchTime has passed.
// What failed before is not tried again, nor is more of what failed.
func (r *runner) stretch(ctx context.Context, cells []*results.Cell, p *progress) (samples, error) {
	made, began := make(samples), time.Now()
	for i, cell := range cells {
		if i > 0 && time.Since(began) >= stretchTime && !sameCase(cells[i-1].Spec, cell.Spec) {
			break
		}
		p.begin(cell.Spec)
		if failure := r.failed(made, cell); failure != "" {
			made[cell] = spec.Sample{Failure: failure}
			continue
		}
		sample, err := r.sample(ctx, cell.Spec)
		if err != nil {
			return nil, err
		}
		made[cell] = sample
		if sample.Failure != "" {
			p.log("%v: %s", cell.Spec, sample.Failure)
		}
	}
	return made, nil
}

// sameCase reports whether two measurements differ in their engine alone.
func sameCase(a, b spec.Spec) bool {
	a.Engine = b.Engine
	return a == b
}

// inTurn returns the cells in the order of a round: in every second one, the engines of
// a case the other way round, so that none always comes after the same one.
func inTurn(cells []*results.Cell, round int) []*results.Cell {
	cells = slices.Clone(cells)
	if round%2 == 0 {
		return cells
	}
	for from, i := 0, 1; i <= len(cells); i++ {
		if i == len(cells) || !sameCase(cells[i].Spec, cells[from].Spec) {
			slices.Reverse(cells[from:i])
			from = i
		}
	}
	return cells
}

// floor measures the floor, if the run is to be steady.
func (r *runner) floor(ctx context.Context) (float64, error) {
	if !r.options.Steady {
		return 0, nil
	}
	least := math.Inf(1)
	for range floorLooks {
		sample, err := r.sample(ctx, spec.Spec{Measure: spec.Floor, N: 1e6})
		if err != nil {
			return 0, err
		}
		if sample.Failure != "" {
			return 0, fmt.Errorf("the floor: %s", sample.Failure)
		}
		least = min(least, sample.Metrics[spec.CPUNs])
	}
	return least, nil
}

// What is recorded of a cell whose measurement is not tried again.
const (
	brokeBefore = "not tried: broke at a lower rate"

	tooFarBehind = 10   // percent of the operations that were not made
	tooLate      = 1000 // p99 of the lateness, ms
)

// failed returns how the cell failed before, or with less to do: it would only take its
// time to fail again.
func (r *runner) failed(made samples, cell *results.Cell) string {
	if cell.Failure != "" {
		return cell.Failure
	}
	for _, other := range r.results.Cells {
		if !less(other.Spec, cell.Spec) {
			continue
		}
		sample := made[other]
		switch {
		case other.Failure != "":
			return other.Failure
		case sample.Failure != "":
			return sample.Failure
		case cell.Measure == spec.Sustained && (broken(sample) || broken(median(other))):
			return brokeBefore
		}
	}
	return ""
}

// less reports whether a is the same measurement as b with less to do.
func less(a, b spec.Spec) bool {
	easier := a.Pending <= b.Pending && a.Rate <= b.Rate && a != b
	a.Pending, a.Rate, a.N = b.Pending, b.Rate, b.N
	return easier && a == b
}

// broken reports whether the engine did not carry a rate.
func broken(s spec.Sample) bool {
	return s.Metrics[spec.Behind] > tooFarBehind || s.Metrics[spec.LateP99] > tooLate
}

func median(c *results.Cell) spec.Sample {
	metrics := make(map[string]float64)
	for name := range c.Metrics {
		metrics[name] = c.Summary(name).Median
	}
	return spec.Sample{Metrics: metrics}
}
