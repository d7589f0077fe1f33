package results

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/spec"
)

func TestResultsAreReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "benchmarks.jsonl")
	r := &Results{Commit: "x", Rounds: 2}
	cell := &Cell{Spec: spec.Spec{Measure: spec.Expire, Engine: "e", N: 7}}
	cell.Add(spec.Sample{Metrics: map[string]float64{spec.CPUNs: 123.456}})
	cell.Add(spec.Sample{Metrics: map[string]float64{spec.CPUNs: 100}})
	r.Cells = []*Cell{cell, {Spec: spec.Spec{Measure: spec.Heap}, Failure: "crashed"}}
	require.NoError(t, r.Write(path))
	back, err := Read(path)
	require.NoError(t, err)
	assert.Equal(t, r, back)
	assert.Equal(t, []float64{123.5, 100}, back.Cells[0].Metrics[spec.CPUNs], "four digits")
	assert.Equal(t, 2, back.Cells[0].Rounds())
}

func TestBrokenFileIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"cut off": `{"commit": "x"} {"measure": "x"} {"measu`, "of another kind": `{"commit": 1} {}`, "empty": ``, "no cells": `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "benchmarks.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			r, err := Read(path)
			assert.ErrorContains(t, err, path)
			assert.Nil(t, r)
		})
	}
}

func TestCellThatIsNotThereHasNoFigures(t *testing.T) {
	var cell *Cell
	assert.False(t, cell.Summary(spec.CPUNs).Known())
}
