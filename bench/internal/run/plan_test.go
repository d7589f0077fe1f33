package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

func TestBackgroundsThatDoNotFitAreLeftOutAndToldOf(t *testing.T) {
	size, notes := full.without(4 << 30)
	assert.NotContains(t, size.growth, 10_000_000)
	assert.NotContains(t, size.background, 10_000_000)
	assert.Contains(t, size.growth, 1_000_000)
	assert.Len(t, notes, 1)
	_, notes = full.without(0) // not known
	assert.Empty(t, notes)
	size, _ = full.without(1)
	assert.Equal(t, []int{0}, size.background)
	assert.NotEmpty(t, size.cases(), "without a background")
}

func TestEveryMeasurementIsPlannedOnce(t *testing.T) {
	for _, size := range []size{full, quick} {
		seen := make(map[spec.Spec]bool)
		measures := make(map[string]bool)
		for _, c := range size.cases() {
			assert.False(t, seen[c], "%v twice", c)
			seen[c], measures[c.Measure] = true, true
		}
		for _, name := range Measurements {
			assert.True(t, measures[name], name)
		}
		assert.Len(t, measures, len(Measurements))
	}
}

func TestEnginesOfACaseAreSideBySide(t *testing.T) {
	all := specs([]spec.Spec{{Measure: spec.Cancel}, {Measure: spec.Goroutines}}, engines.All())
	kinds := len(engines.All())
	for _, s := range all[:kinds] {
		assert.Equal(t, spec.Cancel, s.Measure)
	}
	for _, s := range all[kinds:] {
		assert.NotEqual(t, "Netty", s.Engine)
	}
}

func TestEverySecondRoundGoesBackwards(t *testing.T) {
	cells := []*results.Cell{{Spec: spec.Spec{N: 1}}, {Spec: spec.Spec{N: 2}}}
	assert.Equal(t, 1, inTurn(cells, 0)[0].Spec.N)
	assert.Equal(t, 2, inTurn(cells, 1)[0].Spec.N)
	assert.Equal(t, 1, inTurn(cells, 2)[0].Spec.N)
}

func TestForecastGoesByWhatWasMeasured(t *testing.T) {
	cells := []*results.Cell{{Spec: spec.Spec{Measure: spec.Idle, Span: time.Second}}, {Spec: spec.Spec{Measure: spec.Idle, Span: time.Second, N: 1}}}
	f := newForecast(cells, 2)
	f.done(cells[0], 10*time.Second)
	guess := float64(estimate(cells[0].Spec))
	assert.InDelta(t, 30e9, float64(f.remaining()), 1e9, "one known, two guessed ones slower than %v", guess)
	f.done(cells[1], 10*time.Second)
	f.done(cells[0], 10*time.Second)
	f.done(cells[1], 10*time.Second)
	assert.Zero(t, f.remaining())
	assert.Equal(t, 1.0, f.share())
}

func TestOnlyKnowsItsNames(t *testing.T) {
	assert.NoError(t, CheckOnly(Measurements))
	assert.ErrorContains(t, CheckOnly([]string{"cancels"}), "cancels")
}

func TestSlowEnginesAreNotFilledWithTenMillion(t *testing.T) {
	cases := []spec.Spec{{Measure: spec.Cancel, Pending: 1e6}, {Measure: spec.Cancel, Pending: 1e7}}
	all := specs(cases, []engines.Kind{{Name: "quick"}, {Name: "slow", Slow: true}})
	assert.Len(t, all, 3)
	assert.Equal(t, "quick", all[2].Engine)
}
