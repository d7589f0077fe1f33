package run

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

var frail = spec.Spec{N: 3, Producers: 2}

// interrupted returns results that lack the second cell in the second round.
func interrupted(t *testing.T) *results.Results {
	r, _ := newRunner(Options{Rounds: 2}, func(spec.Spec) spec.Sample { return cpu(1) },
		spec.Spec{N: 1}, spec.Spec{N: 2}, frail)
	measured := r.sample
	calls := 0
	r.sample = func(ctx context.Context, s spec.Spec) (spec.Sample, error) {
		calls++
		switch {
		case calls == 3:
			return spec.Sample{Failure: "crashed"}, nil
		case calls > 3:
			return spec.Sample{}, context.Canceled
		}
		return measured(ctx, s)
	}
	require.ErrorIs(t, r.measure(t.Context()), context.Canceled)
	r.results.Cells[0].Add(cpu(1)) // as if a stretch had ended here
	r.results.Commit, r.results.Took, r.results.Notes = "one", time.Hour, []string{"left out", wasInterrupted + " in round 1."}
	return r.results
}

func TestAnInterruptedRunGoesOn(t *testing.T) {
	var tried []int
	r, _ := newRunner(Options{Rounds: 2, Before: interrupted(t)}, func(s spec.Spec) spec.Sample {
		tried = append(tried, s.N)
		return cpu(2)
	}, spec.Spec{N: 1}, spec.Spec{N: 2}, frail, spec.Spec{N: 4})
	r.results.Commit = "two"
	require.NoError(t, r.goOn())
	require.NoError(t, r.measure(t.Context()))
	assert.Equal(t, []int{4, 2, 4}, tried, "neither what is there nor what failed")
	assert.Equal(t, []float64{1, 2}, r.results.Cells[1].Metrics[spec.CPUNs])
	assert.Equal(t, "crashed", r.results.Cells[2].Failure)
	assert.Equal(t, "one", r.results.Commit)
	assert.Equal(t, time.Hour, r.results.Took)
	assert.Equal(t, []string{"A run at commit one was continued at commit two.", "left out"}, r.results.Notes)
	assert.Len(t, r.results.Rounds, 2)
}

func TestARunGoesOnWithNothingOfAnotherMachine(t *testing.T) {
	for name, change := range map[string]func(*results.Results){
		"Go": func(r *results.Results) { r.Machine.Go = "go1.0" }, "cores": func(r *results.Results) { r.Machine.Cores = 99 },
		"quick": func(r *results.Results) { r.Quick = true },
	} {
		before := interrupted(t)
		change(before)
		r, _ := newRunner(Options{Rounds: 2, Before: before}, nil, spec.Spec{N: 1})
		assert.ErrorContains(t, r.goOn(), "cannot go on", name)
		assert.Zero(t, r.results.Cells[0].Rounds(), name)
	}
}
