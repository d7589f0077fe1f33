package run

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// newRunner returns a runner of these specs with a source of samples, which continues the
// run in a file.
func newRunner(part string, rounds int, sample func(spec.Spec) (spec.Sample, error), specs ...spec.Spec) *runner {
	r := &runner{options: Options{Rounds: rounds, Log: io.Discard, File: part}, results: &results.Results{Commit: "abc"}}
	r.sample = func(_ context.Context, s spec.Spec) (spec.Sample, error) { return sample(s) }
	for _, s := range specs {
		r.results.Cells = append(r.results.Cells, &results.Cell{Spec: s})
	}
	return r
}

// cpu returns a sample of CPU time.
func cpu(ns float64) spec.Sample {
	return spec.Sample{Metrics: map[string]float64{spec.CPUNs: ns}}
}

func TestSecondRoundReversesTheEngines(t *testing.T) {
	var order []string
	r := newRunner("", 2, func(s spec.Spec) (spec.Sample, error) {
		order = append(order, fmt.Sprint(s.N, s.Engine))
		return cpu(1), nil
	}, spec.Spec{N: 1, Engine: "a"}, spec.Spec{N: 1, Engine: "b"}, spec.Spec{N: 2, Engine: "a"}, spec.Spec{N: 2, Engine: "b"})
	require.NoError(t, r.measure(t.Context()))
	assert.Equal(t, []string{"1a", "1b", "2a", "2b", "1b", "1a", "2b", "2a"}, order)
	assert.Equal(t, 2, r.results.Cells[0].Rounds())
}

func TestFaultsAreCountedInOneRound(t *testing.T) {
	tried := make(map[string]int)
	r := newRunner("", 3, func(s spec.Spec) (spec.Sample, error) {
		tried[s.Measure]++
		return cpu(1), nil
	}, spec.Spec{Measure: spec.Correct}, spec.Spec{Measure: spec.Cancel})
	require.NoError(t, r.measure(t.Context()))
	assert.Equal(t, map[string]int{spec.Correct: 1, spec.Cancel: 3}, tried)
}

func TestFailedMeasurementIsNotRepeated(t *testing.T) {
	tried := make(map[string]int)
	r := newRunner("", 3, func(s spec.Spec) (spec.Sample, error) {
		if tried[s.Engine]++; s.Engine == "frail" {
			return spec.Sample{Failure: "crashed"}, nil
		}
		return cpu(1), nil
	}, spec.Spec{Engine: "frail"}, spec.Spec{Engine: "well"})
	require.NoError(t, r.measure(t.Context()))
	assert.Equal(t, map[string]int{"frail": 1, "well": 3}, tried)
	assert.Equal(t, "crashed", r.results.Cells[0].Failure)
}

func TestInterruptedRunContinues(t *testing.T) {
	part := filepath.Join(t.TempDir(), "part")
	specs := []spec.Spec{{N: 1, Engine: "a"}, {N: 2, Engine: "a"}, {N: 3, Engine: "a"}}
	calls := 0
	interrupted := newRunner(part, 2, func(s spec.Spec) (spec.Sample, error) {
		if calls++; calls == 5 {
			return spec.Sample{}, context.Canceled
		}
		return cpu(float64(s.N)), nil
	}, specs...)
	require.ErrorIs(t, interrupted.measure(t.Context()), context.Canceled)

	var tried []int
	r := newRunner(part, 2, func(s spec.Spec) (spec.Sample, error) {
		tried = append(tried, s.N)
		return cpu(float64(s.N)), nil
	}, specs...)
	require.NoError(t, r.measure(t.Context()))
	assert.Equal(t, []int{2, 3}, tried)
	for i, cell := range r.results.Cells {
		assert.Equal(t, []float64{float64(i + 1), float64(i + 1)}, cell.Metrics[spec.CPUNs])
	}
}

func TestRunOfAnotherCommitIsNotContinued(t *testing.T) {
	part := filepath.Join(t.TempDir(), "part")
	sample := func(spec.Spec) (spec.Sample, error) { return cpu(1), nil }
	require.NoError(t, newRunner(part, 1, sample, spec.Spec{Engine: "a"}).measure(t.Context()))
	for commit, want := range map[string]string{"def": "at commit abc", "abc-dirty": "the working tree has changes"} {
		r := newRunner(part, 1, sample, spec.Spec{Engine: "a"})
		r.results.Commit = commit
		assert.ErrorContains(t, r.measure(t.Context()), want)
	}
}

func TestEveryMeasurementIsPlannedOnce(t *testing.T) {
	for _, size := range []size{full, quick} {
		seen, measures := make(map[spec.Spec]bool), make(map[string]bool)
		for _, c := range size.cases() {
			assert.False(t, seen[c], "%v twice", c)
			seen[c], measures[c.Measure] = true, true
		}
		for _, name := range spec.Measurements {
			assert.True(t, measures[name], name)
		}
		assert.Len(t, measures, len(spec.Measurements))
	}
}

func TestEnginesOfACaseAreAdjacent(t *testing.T) {
	all := specs([]spec.Spec{{Measure: spec.Cancel}, {Measure: spec.Burst}}, engines.All())
	seen := make(map[string]bool)
	for i, s := range all {
		if i > 0 && s.Measure != all[i-1].Measure {
			assert.False(t, seen[s.Measure])
		}
		seen[s.Measure] = true
		assert.False(t, s.Measure == spec.Burst && s.Engine == "AfterFunc", "millions of goroutines")
	}
}

func TestUnknownMeasurementIsAnError(t *testing.T) {
	assert.NoError(t, CheckOnly(spec.Measurements))
	assert.ErrorContains(t, CheckOnly([]string{"cancels"}), "cancels")
}
