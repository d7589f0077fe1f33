package run

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

func TestBackgroundsThatDoNotFitAreLeftOutWithANote(t *testing.T) {
	size, notes := full.without(4 << 30)
	assert.NotContains(t, size.growth, 10_000_000)
	assert.NotContains(t, size.background, 10_000_000)
	assert.Contains(t, size.growth, 1_000_000)
	assert.Equal(t, []int{1e6}, size.longRates)
	assert.Len(t, notes, 3)
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
	goroutines := slices.IndexFunc(all, func(s spec.Spec) bool { return s.Measure == spec.Goroutines })
	for _, s := range all[:goroutines] {
		assert.Equal(t, spec.Cancel, s.Measure)
	}
	for _, s := range all[goroutines:] {
		assert.Equal(t, spec.Goroutines, s.Measure)
		assert.NotEqual(t, "Netty", s.Engine)
		assert.NotEqual(t, "hashedwheel+go", s.Engine)
	}
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
