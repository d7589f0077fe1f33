package measure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// Every engine in Go takes part in every measurement; these need the real clock,
// which is what is measured. The figures are not looked at. antlabs' reset hangs,
// which only a process of its own survives.
func TestEveryEngineIsMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds an engine")
	}
	specs := []spec.Spec{
		{Measure: spec.Schedule, Producers: 1, N: 100},
		{Measure: spec.Cancel, Producers: 2, N: 100, Pending: 10},
		{Measure: spec.Heap, Pending: 1000},
		{Measure: spec.Idle, Span: 10 * time.Millisecond},
	}
	for _, k := range engines.All() {
		if k.Foreign {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			for _, s := range specs {
				s.Engine = k.Name
				sample, err := Run(s)
				require.NoError(t, err)
				assert.NotEmpty(t, sample.Metrics, s)
			}
		})
	}
}

func TestResetsAreMeasured(t *testing.T) {
	for _, measure := range []string{spec.ResetLater, spec.ResetEarlier, spec.ResetAll, spec.Heartbeats, spec.Deadlines} {
		sample, err := Run(spec.Spec{Measure: measure, Engine: "AfterFunc", N: 10, Pending: 20, Span: 20 * time.Millisecond})
		require.NoError(t, err)
		assert.Contains(t, sample.Metrics, spec.CPUNs, measure)
	}
}

func TestExpiryCountsEveryTimeout(t *testing.T) {
	sample, err := Run(spec.Spec{Measure: spec.Expire, Engine: "hashedwheel", N: 1000, Span: time.Minute})
	require.NoError(t, err)
	assert.Zero(t, sample.Metrics[spec.Lost])
	assert.Zero(t, sample.Metrics[spec.Early])
	assert.GreaterOrEqual(t, sample.Metrics[spec.LateMin], 0.0)
	assert.Equal(t, 1.0, sample.Late[len(sample.Late)-1].Share)
}

func TestFloorHasItsParts(t *testing.T) {
	sample, err := Run(spec.Spec{Measure: spec.Floor, N: 1000})
	require.NoError(t, err)
	assert.InDelta(t, 48, sample.Metrics[spec.Bytes], 16)
	assert.Contains(t, sample.Metrics, spec.SwapNs)
}

// What went wrong is judged by hand-made subjects.
func TestJudgeCountsEachFault(t *testing.T) {
	subjects := make([]subject, 5)
	fire := func(i int, times int32, fired, deadline time.Duration) {
		subjects[i].times.Store(times)
		subjects[i].fired.Store(int64(fired))
		subjects[i].deadline = deadline
	}
	fire(0, 1, 5*time.Millisecond, 10*time.Millisecond) // early
	fire(1, 2, 20, 10)                                  // repeated
	fire(2, 0, 0, 10)                                   // lost
	fire(3, 1, time.Second, 10)                         // ran though cancelled
	subjects[3].cancelled, subjects[3].verdict = 5, true
	subjects[4].cancelled, subjects[4].verdict = 5, true // cancelled, as it should be
	for _, verdicts := range []bool{true, false} {
		assert.Equal(t, map[string]float64{
			spec.Early: 1, spec.EarlyMs: 5, spec.Repeated: 1, spec.Lost: 1, spec.Revived: 1,
		}, judge(subjects, verdicts))
	}
}

func TestPlanCancelsAThirdAfterScheduling(t *testing.T) {
	subjects := make([]subject, 600)
	scheduled, cancels := make(map[int]bool), 0
	for _, e := range plan(subjects, time.Second, time.Millisecond) {
		if e.cancel {
			assert.True(t, scheduled[e.subject])
			cancels++
			continue
		}
		scheduled[e.subject] = true
	}
	assert.Equal(t, 200, cancels)
	assert.Len(t, scheduled, 600)
}
