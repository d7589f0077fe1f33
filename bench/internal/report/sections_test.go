package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

func TestTablesShowNothingAMillionAndTenMillion(t *testing.T) {
	of := func(backgrounds ...int) (cases []spec.Spec) {
		for _, n := range backgrounds {
			cases = append(cases, spec.Spec{Measure: spec.Cancel, Pending: n})
		}
		return cases
	}
	assert.Equal(t, of(0, 1e6, 1e7), shown(of(0, 1e3, 1e4, 1e5, 1e6, 1e7)))
	assert.Equal(t, of(0, 1e6), shown(of(0, 1e3, 1e6)))
	assert.Equal(t, of(0, 1e5), shown(of(0, 1e4, 1e5)), "the most there was")
	assert.Empty(t, shown(nil))
}

func TestAllocationsAreShownOnce(t *testing.T) {
	r := &results.Results{Engines: []engines.Kind{{Name: "ours", Ours: true}}}
	for _, producers := range []int{1, 2} {
		for _, pending := range []int{0, 1e6, 1e7} {
			r.Cells = append(r.Cells, &results.Cell{
				Spec:    spec.Spec{Measure: spec.Cancel, Engine: "ours", Producers: producers, Pending: pending},
				Samples: []spec.Sample{{Metrics: map[string]float64{spec.CPUNs: 1, spec.Bytes: 48, spec.Allocs: 1}}},
			})
		}
	}
	s, ok := newSection(r, find(spec.Cancel))
	require.True(t, ok)
	var titles []string
	for _, part := range s.Parts {
		titles = append(titles, part.Title)
	}
	assert.Equal(t, []string{"CPU, ns", "CPU, ns, by two producers", "Allocated by a call, with 1,000,000 pending"}, titles)
}

func TestOneCaseHasItsFiguresSideBySide(t *testing.T) {
	r := pair(spec.Spec{Measure: spec.Expire, N: 1000},
		map[string]float64{spec.CPUNs: 100, spec.Early: 0, spec.LateP50: 1}, map[string]float64{spec.CPUNs: 200, spec.Early: 3, spec.LateP50: -4})
	s, ok := newSection(r, find(spec.Expire))
	require.True(t, ok)
	require.Len(t, s.Parts, 1)
	assert.Equal(t, []string{"engine", "CPU, ns", "ratio", "ran early", "late, p50, ms", "faults"}, s.Parts[0].Table.head)
	assert.Equal(t, "**100** (100 to 100)", s.Parts[0].Table.rows[0][1])
	assert.Equal(t, "3 (3 to 3)", s.Parts[0].Table.rows[1][3], "a count")
	assert.Equal(t, "**1.00** (1.00 to 1.00)", s.Parts[0].Table.rows[0][4], "an engine that is early is not the best")
}

func TestNothingIsMarkedWhereAllAreLevel(t *testing.T) {
	r := pair(spec.Spec{Measure: spec.Cancel}, map[string]float64{spec.CPUNs: 100.1}, map[string]float64{spec.CPUNs: 100.2})
	assert.Empty(t, leastOf(r, column{c: r.Cases(spec.Cancel)[0], metric: find(spec.Cancel).metrics[0]}))
}

func TestFewerRoundsAreTold(t *testing.T) {
	r := pair(spec.Spec{Measure: spec.Cancel}, nil, nil)
	assert.Equal(t, "2", roundsTold(r))
	for _, cell := range r.Cells {
		cell.Spec.Pending, cell.Samples = 1e7, cell.Samples[:1]
	}
	assert.Equal(t, "2; 1 with 10,000,000 pending", roundsTold(r))
}

func TestTheDaggerIsExplainedOnlyWhereItIs(t *testing.T) {
	r := small(200, 300)
	metrics := map[string]float64{spec.CPUNs: 1}
	for _, engine := range []string{"ours", "quick"} { // both have a reset
		r.Cells = append(r.Cells, &results.Cell{
			Spec: spec.Spec{Measure: spec.ResetAll, Engine: engine}, Samples: []spec.Sample{{Metrics: metrics}},
		})
	}
	s, _ := newSection(r, find(spec.ResetAll))
	assert.False(t, s.Marked)
	r.Cells = append(r.Cells, &results.Cell{
		Spec: spec.Spec{Measure: spec.ResetAll, Engine: "faulty"}, Samples: []spec.Sample{{Metrics: metrics}},
	})
	s, _ = newSection(r, find(spec.ResetAll))
	assert.True(t, s.Marked)
}
