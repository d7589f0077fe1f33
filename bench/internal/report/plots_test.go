package report

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// late returns results of one engine with that distribution.
func late(points ...spec.Point) *results.Results {
	return &results.Results{Engines: []engines.Kind{{Name: "only"}}, Cells: []*results.Cell{{
		Spec: spec.Spec{Measure: spec.Expire, Engine: "only", N: 10}, Samples: []spec.Sample{{Late: points}},
	}}}
}

func TestStillToRunIsTheOtherWayRoundAndEndsAtTheBottom(t *testing.T) {
	got := stillToRun([]spec.Point{{Share: 0, Ms: -1}, {Share: 0.9, Ms: 2}, {Share: 0.9999, Ms: 3}, {Share: 1, Ms: 4}})
	require.Len(t, got, 3)
	assert.Equal(t, plotter.XY{X: -1, Y: 1}, got[0])
	assert.InDelta(t, 0.1, got[1].Y, 1e-9)
	assert.Equal(t, plotter.XY{X: 3, Y: leastShare}, got[2])
}

func TestLatenessIsDrawnWhereverItLies(t *testing.T) {
	for name, r := range map[string]*results.Results{
		"early":     late(spec.Point{Share: 0, Ms: -300}, spec.Point{Share: 0.5, Ms: -200}, spec.Point{Share: 1, Ms: -100}),
		"at once":   late(spec.Point{Share: 0}, spec.Point{Share: 0.5}, spec.Point{Share: 1}),
		"very late": late(spec.Point{Share: 0, Ms: 1e6}, spec.Point{Share: 0.5, Ms: 2e6}, spec.Point{Share: 1, Ms: 3e6}),
		"one point": late(spec.Point{Share: 0.5, Ms: 1}),
	} {
		canvas, err := lateness(r)
		require.NoError(t, err, name)
		require.NotNil(t, canvas, name)
		var text bytes.Buffer
		_, err = canvas.WriteTo(&text)
		require.NoError(t, err)
		assert.NotContains(t, text.String(), "NaN", name)
		assert.NotContains(t, text.String(), "Inf", name)
	}
}

func TestWhatWasNotMeasuredIsNotDrawn(t *testing.T) {
	for _, r := range []*results.Results{{}, late(), late(spec.Point{Share: 1, Ms: 3})} {
		canvas, err := lateness(r)
		assert.NoError(t, err)
		assert.Nil(t, canvas)
		canvas, err = growth(r)
		assert.NoError(t, err)
		assert.Nil(t, canvas)
		canvas, err = cancelBars(r)
		assert.NoError(t, err)
		assert.Nil(t, canvas)
	}
}

func TestTheSymmetricScaleKeepsOrderOnBothSides(t *testing.T) {
	scale, last := symmetric{}, math.Inf(-1)
	for _, v := range []float64{-100, -1, -0.1, 0, 0.1, 1, 100} {
		at := scale.Normalize(-100, 100, v)
		assert.Greater(t, at, last)
		last = at
	}
	assert.InDelta(t, 0, scale.Normalize(-100, 50, -100), 1e-12)
	assert.InDelta(t, 0.5, scale.Normalize(-100, 100, 0), 1e-12)
	assert.InDelta(t, 1, scale.Normalize(-100, 50, 50), 1e-12)
}

func TestTicksOfTheSymmetricScaleAreWithinIt(t *testing.T) {
	var names []string
	for _, tick := range (symmetricTicks{}).Ticks(-12, 150) {
		assert.GreaterOrEqual(t, tick.Value, -12.0)
		assert.LessOrEqual(t, tick.Value, 150.0)
		if tick.Label != "" {
			names = append(names, tick.Label)
		}
	}
	assert.ElementsMatch(t, []string{"−10", "−1", "0", "1", "10", "100"}, names)
}

func TestTicksAreNamedPlainly(t *testing.T) {
	for v, want := range map[float64]string{0.001: "0.001", 0.2: "0.2", 1: "1", 500: "500", 1000: "1k", 1e7: "10M"} {
		assert.Equal(t, want, tickName(v))
	}
}

func TestPanelsLeaveNoHoles(t *testing.T) {
	p := new(plot.Plot)
	assert.Equal(t, [][]*plot.Plot{{p}}, inRows([]*plot.Plot{p}))
	assert.Equal(t, [][]*plot.Plot{{p, p, p}, {p, nil, nil}}, inRows([]*plot.Plot{p, p, p, p}))
}

func TestTheLegendHasRoomForAll(t *testing.T) {
	one, five, six := legendHeight(1, growthWidth), legendHeight(5, growthWidth), legendHeight(6, growthWidth)
	assert.Equal(t, one, five)
	assert.Greater(t, six, five)
	assert.Greater(t, legendHeight(2, 100), one, "narrower than an entry")
}
