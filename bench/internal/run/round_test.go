package run

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// newRunner returns a runner of these specs that takes its samples from a function.
func newRunner(o Options, sample func(spec.Spec) spec.Sample, specs ...spec.Spec) (*runner, *bytes.Buffer) {
	var log bytes.Buffer
	o.Log = &log
	r := &runner{options: o, results: &results.Results{}, load: func() (float64, bool) { return 0, true }}
	r.sample = func(_ context.Context, s spec.Spec) (spec.Sample, error) { return sample(s), nil }
	for _, s := range specs {
		r.results.Cells = append(r.results.Cells, &results.Cell{Spec: s})
	}
	return r, &log
}

// cpu returns a sample of CPU time.
func cpu(ns float64) spec.Sample {
	return spec.Sample{Metrics: map[string]float64{spec.CPUNs: ns}}
}

func TestEnginesTakeTurnsTheOtherWayRound(t *testing.T) {
	var order []string
	r, _ := newRunner(Options{Rounds: 2}, func(s spec.Spec) spec.Sample {
		order = append(order, fmt.Sprint(s.N, s.Engine))
		return cpu(1)
	}, spec.Spec{N: 1, Engine: "a"}, spec.Spec{N: 1, Engine: "b"}, spec.Spec{N: 2, Engine: "a"}, spec.Spec{N: 2, Engine: "b"})
	require.NoError(t, r.measure(t.Context()))
	assert.Equal(t, []string{"1a", "1b", "2a", "2b", "1b", "1a", "2b", "2a"}, order)
	assert.Equal(t, 2, r.results.Cells[0].Rounds())
}

func TestWhatTakesLongIsMeasuredHalfAsOften(t *testing.T) {
	assert.Equal(t, 4, rounds(spec.Spec{Measure: spec.Cancel, Pending: 1e6, Engine: "hashedwheel"}, 4))
	for _, s := range []spec.Spec{
		{Measure: spec.Cancel, Pending: 1e7, Engine: "hashedwheel"}, {Measure: spec.Burst, Engine: "hashedwheel"},
		{Measure: spec.Cancel, Engine: "ouqiang"},
	} {
		assert.Equal(t, 2, rounds(s, 4), s)
		assert.Equal(t, 1, rounds(s, 1), s)
	}
}

// steady returns a runner whose floors are given, and measurements that take a time.
func steady(floors []float64, takes time.Duration, specs ...spec.Spec) (*runner, *bytes.Buffer) {
	looks := 0
	return newRunner(Options{Rounds: 1, Steady: true}, func(s spec.Spec) spec.Sample {
		if s.Measure != spec.Floor {
			time.Sleep(takes)
			return cpu(1)
		}
		if looks++; looks%floorLooks != 0 {
			return cpu(1000) // disturbed
		}
		return cpu(floors[looks/floorLooks-1])
	}, specs...)
}

func TestAStretchIsRepeatedIfTheFloorMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := steady([]float64{100, 130, 120, 110}, stretchTime/2,
			spec.Spec{N: 1, Engine: "a"}, spec.Spec{N: 1, Engine: "b"}, spec.Spec{N: 2, Engine: "a"})
		require.NoError(t, r.measure(t.Context()))
		assert.Equal(t, []results.Round{{Stretches: []results.Stretch{
			{Before: 130, After: 120, Repeated: 1}, {Before: 120, After: 110},
		}}}, r.results.Rounds)
		for _, cell := range r.results.Cells {
			assert.Equal(t, 1, cell.Rounds(), "what was measured while the floor moved does not count")
		}
		assert.Contains(t, log.String(), "the floor moved from 100 to 130 ns: 2 measurements are repeated")
	})
}

func TestAFloorThatNeverRestsDoesNotStopTheRun(t *testing.T) {
	r, _ := steady([]float64{100, 200, 400, 800}, 0, spec.Spec{Measure: spec.Cancel})
	require.NoError(t, r.measure(t.Context()))
	assert.Equal(t, []results.Stretch{{Before: 400, After: 800, Repeated: mostRepeats}}, r.results.Rounds[0].Stretches)
	assert.Equal(t, 1, r.results.Cells[0].Rounds())
}

func TestAStretchHoldsWholeCases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := steady([]float64{1, 1, 1}, stretchTime,
			spec.Spec{N: 1, Engine: "a"}, spec.Spec{N: 1, Engine: "b"}, spec.Spec{N: 2, Engine: "a"}, spec.Spec{N: 2, Engine: "b"})
		require.NoError(t, r.measure(t.Context()))
		assert.Len(t, r.results.Rounds[0].Stretches, 2)
	})
}

func TestAnInterruptionLosesOneStretch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newRunner(Options{Rounds: 2}, nil, spec.Spec{N: 1}, spec.Spec{N: 2})
		calls := 0
		r.sample = func(context.Context, spec.Spec) (spec.Sample, error) {
			if calls++; calls == 4 {
				return spec.Sample{}, context.Canceled
			}
			time.Sleep(stretchTime)
			return cpu(1), nil
		}
		require.ErrorIs(t, r.measure(t.Context()), context.Canceled)
		assert.Len(t, r.results.Rounds, 2)
		assert.Equal(t, 2, r.results.Cells[0].Rounds())
		assert.Equal(t, 1, r.results.Cells[1].Rounds())
	})
}

func TestWhatFailedIsNotTriedWithMore(t *testing.T) {
	tried := make(map[spec.Spec]int)
	r, _ := newRunner(Options{Rounds: 2}, func(s spec.Spec) spec.Sample {
		if tried[s]++; s.Engine == "frail" {
			return spec.Sample{Failure: "crashed"}
		}
		return cpu(1)
	},
		spec.Spec{Measure: spec.Cancel, Engine: "frail", Pending: 10}, spec.Spec{Measure: spec.Cancel, Engine: "well", Pending: 10},
		spec.Spec{Measure: spec.Cancel, Engine: "frail", Pending: 20}, spec.Spec{Measure: spec.Cancel, Engine: "well", Pending: 20})
	require.NoError(t, r.measure(t.Context()))
	assert.Len(t, tried, 3)
	assert.Equal(t, 1, tried[spec.Spec{Measure: spec.Cancel, Engine: "frail", Pending: 10}])
	assert.Equal(t, 2, tried[spec.Spec{Measure: spec.Cancel, Engine: "well", Pending: 20}])
	assert.Equal(t, "crashed", r.results.Cells[2].Failure)
}

func TestARateAboveOneThatBrokeIsNotTried(t *testing.T) {
	for name, metrics := range map[string]map[string]float64{
		"too slow": {spec.Behind: 50}, "too late": {spec.LateP99: 2000},
	} {
		var rates []int
		r, _ := newRunner(Options{Rounds: 1}, func(s spec.Spec) spec.Sample {
			rates = append(rates, s.Rate)
			if s.Rate == 2 {
				return spec.Sample{Metrics: metrics}
			}
			return cpu(1)
		})
		for _, s := range []spec.Spec{{Rate: 1}, {Rate: 2}, {Rate: 3}, {Rate: 3, Delay: 1}} {
			s.Measure = spec.Sustained
			r.results.Cells = append(r.results.Cells, &results.Cell{Spec: s})
		}
		require.NoError(t, r.measure(t.Context()))
		assert.Equal(t, []int{1, 2, 3}, rates, name)
		assert.Equal(t, brokeBefore, r.results.Cells[2].Failure, name)
		assert.Empty(t, r.results.Cells[3].Failure, name)
	}
}

func TestTheRunWaitsForAQuietMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := newRunner(Options{}, nil)
		start := time.Now()
		r.load = func() (float64, bool) { return 1 - time.Since(start).Minutes()/4, true }
		require.NoError(t, r.waitForQuiet(t.Context(), 30*time.Minute))
		assert.Equal(t, 170*time.Second, time.Since(start), "the load falls to 0.3 after 168 s")
		assert.Equal(t, 3, strings.Count(log.String(), "waiting for a quiet machine"))
		assert.Empty(t, r.results.Notes)
	})
}

func TestTheRunDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newRunner(Options{}, nil)
		r.load = func() (float64, bool) { return 2, true }
		start := time.Now()
		require.NoError(t, r.waitForQuiet(t.Context(), 0))
		assert.Zero(t, time.Since(start))
		require.NoError(t, r.waitForQuiet(t.Context(), 30*time.Minute))
		assert.Equal(t, 30*time.Minute, time.Since(start))
		assert.Len(t, r.results.Notes, 1)
		r.load = func() (float64, bool) { return 0, false }
		require.NoError(t, r.waitForQuiet(t.Context(), time.Hour))
		assert.Equal(t, 30*time.Minute, time.Since(start), "where the load is not known")
	})
}

func TestProgressSaysHowMuchIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		expiry := spec.Spec{Measure: spec.Expire, N: 3_400_000}
		p := newProgress(&log, 2, 4*estimate(expiry))
		p.begin(expiry)
		time.Sleep(estimate(expiry))
		p.begin(expiry)
		time.Sleep(lineEvery)
		p.end()
		assert.Regexp(t, `^ 10s  round 1/2  expire \n(?s:.*) 30s   25%  round 1/2  expire , about 1m\d+s left\n$`, log.String())
	})
}
