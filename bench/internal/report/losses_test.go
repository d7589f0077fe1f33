package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

func TestLossesAreToldWithWhatToUse(t *testing.T) {
	lines := behind(small(50, 60), clear)
	require.Len(t, lines, 1)
	assert.Equal(t, "**Schedule and cancel, CPU:** ahead of ours: quick with 1,000 pending (50.5 against 101 ns) "+
		"and by no more in 1 other case; faulty with 1,000 pending (60.5 against 101 ns) and by no more in 1 other case. "+
		"Where that decides, use quick. Mind what is wrong with faulty (early: 20.1 %).", lines[0])
}

func TestAFaultyRivalIsNotAdvised(t *testing.T) {
	lines := behind(small(200, 60), clear)
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], "None of them is free of faults.")
}

func TestWhatIsNotLostIsNotToldAsLost(t *testing.T) {
	assert.Empty(t, behind(small(200, 300), clear))
	near := small(99.9, 300) // within the noise
	assert.Empty(t, behind(near, clear))
}

// pair returns results of ours and one rival in one case, two equal rounds each.
func pair(c spec.Spec, ours, rival map[string]float64) *results.Results {
	r := &results.Results{Rounds: 2, Engines: []engines.Kind{{Name: "ours", Ours: true}, {Name: "rival"}}}
	for i, metrics := range []map[string]float64{ours, rival} {
		c.Engine = r.Engines[i].Name
		r.Cells = append(r.Cells, &results.Cell{Spec: c, Samples: []spec.Sample{{Metrics: metrics}, {Metrics: metrics}}})
	}
	return r
}

func TestWhoRunsEarlyOrLosesTimeoutsIsNotAheadInLateness(t *testing.T) {
	c := spec.Spec{Measure: spec.Expire, N: 1000}
	ours := map[string]float64{spec.LateP50: 1, spec.Early: 0, spec.Lost: 0}
	for fault, want := range map[string]int{"": 1, spec.Early: 0, spec.Lost: 0} {
		rival := map[string]float64{spec.LateP50: -4, spec.Early: 0, spec.Lost: 0}
		rival[fault] = 1
		lost, compared := losses(pair(c, ours, rival))
		assert.Len(t, lost, want, fault)
		assert.Equal(t, want, compared, fault)
	}
}

func TestWhoDoesLessOfTheWorkIsNotAheadInCPUOfACore(t *testing.T) {
	c := spec.Spec{Measure: spec.Heartbeats, Pending: 1000}
	for behind, want := range map[float64]bool{0: true, 0.5: true, 3.5: true, 20: false} {
		r := pair(c, map[string]float64{spec.CorePct: 50, spec.Behind: 3}, map[string]float64{spec.CorePct: 10, spec.Behind: behind})
		assert.Equal(t, want, fair(r, metric{name: spec.CorePct}, r.Cases(spec.Heartbeats)[0], "rival"), behind)
	}
}

func TestALossInOneRoundIsAHint(t *testing.T) {
	c := spec.Spec{Measure: spec.Cancel, Producers: 1, Pending: 10_000_000}
	r := pair(c, map[string]float64{spec.CPUNs: 100}, map[string]float64{spec.CPUNs: 50})
	assert.Len(t, behind(r, clear), 1)
	assert.Empty(t, behind(r, hinted))
	r.Cells[1].Samples = r.Cells[1].Samples[:1]
	assert.Empty(t, behind(r, clear))
	require.Len(t, behind(r, hinted), 1)
	text, err := render(r, nil)
	require.NoError(t, err)
	assert.Contains(t, text, "but one round")
	assert.NotContains(t, text, "in every round")
	assert.NotContains(t, text, "lost none")
}

func TestUnknownFaultsAreToldAsUnknown(t *testing.T) {
	c := spec.Spec{Measure: spec.Cancel, Producers: 1}
	lines := behind(pair(c, map[string]float64{spec.CPUNs: 100}, map[string]float64{spec.CPUNs: 50}), clear)
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], "The faults of rival were not measured.")
}
