package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

func TestStillToRunIsTheComplement(t *testing.T) {
	late := make([]float64, len(spec.Shares))
	late[0], late[12] = -1, 2
	got := stillToRun(late)
	require.Len(t, got, len(spec.Shares)-1, "the last share is zero")
	assert.Equal(t, plotter.XY{X: soonest, Y: 1}, got[0], "early")
	assert.Equal(t, 2.0, got[12].X)
	assert.InDelta(t, 0.1, got[12].Y, 1e-9)
	assert.Equal(t, leastShare, got[len(got)-1].Y)
}

func TestLatenessPlotHasFiniteCoordinates(t *testing.T) {
	for name, ms := range map[string]float64{"early": -300, "at once": 0, "late": 3, "very late": 1e6} {
		t.Run(name, func(t *testing.T) {
			late := make([]float64, len(spec.Shares))
			for i := range late {
				late[i] = ms * (1 + float64(i))
			}
			r := &results.Results{Engines: []engines.Kind{{Name: "AfterFunc"}}, Cells: []*results.Cell{{
				Spec: spec.Spec{Measure: spec.Expire, Engine: "AfterFunc", N: 10}, Late: [][]float64{late},
			}}}
			file := filepath.Join(t.TempDir(), plotFile)
			drawn, err := drawLateness(r, file)
			require.NoError(t, err)
			require.True(t, drawn)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.NotContains(t, string(text), "NaN")
			assert.NotContains(t, string(text), "Inf")
		})
	}
}

func TestPlottedEnginesExistAndDiffer(t *testing.T) {
	seen := make(map[any]string)
	for name, style := range styles {
		_, err := engines.Find(name)
		assert.NoError(t, err)
		assert.Empty(t, seen[style.Color], name)
		seen[style.Color] = name
	}
	assert.LessOrEqual(t, len(styles), 6, "lines")
}
