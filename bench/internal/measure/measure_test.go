package measure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// Every Go engine takes part in these measurements, on the real clock. Results are not
// compared. The Reset of antlabs hangs, which only a separate process survives.
func TestEveryEngineIsMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds per engine")
	}
	specs := []spec.Spec{
		{Measure: spec.Schedule, Producers: 1, N: 100},
		{Measure: spec.Cancel, Producers: 2, N: 100, Pending: 10},
		{Measure: spec.Heap, Pending: 1000},
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
	for measure, span := range map[string]time.Duration{spec.ResetAll: time.Minute, spec.Heartbeats: 20 * time.Millisecond} {
		for _, engine := range []string{"AfterFunc", "hashedwheel+event", "floor"} {
			t.Run(measure+"/"+engine, func(t *testing.T) {
				t.Parallel() // waits for seconds
				sample, err := Run(spec.Spec{Measure: measure, Engine: engine, N: 10, Pending: 20, Span: span})
				require.NoError(t, err)
				assert.Empty(t, sample.Failure)
				assert.Contains(t, sample.Metrics, spec.CPUNs)
				assert.Zero(t, sample.Metrics[spec.Lost])
			})
		}
	}
}

func TestLoadsAreMeasured(t *testing.T) {
	const span = 50 * time.Millisecond
	for _, s := range []spec.Spec{
		{Measure: spec.Sustained, Producers: 2, Rate: 10_000, Delay: span},
		{Measure: spec.Saturated, Busy: 2},
		{Measure: spec.Trickle, Rate: 1000},
		{Measure: spec.Lone},
	} {
		s.Engine, s.Span = "hashedwheel", span
		sample, err := Run(s)
		require.NoError(t, err)
		assert.Empty(t, sample.Failure, s)
		assert.Positive(t, sample.Metrics[spec.LateMax], s)
		assert.Zero(t, sample.Metrics[spec.Early], s)
		if s.Measure != spec.Saturated { // which does not wait for its last probes
			assert.Zero(t, sample.Metrics[spec.Lost], s)
		}
	}
}

func TestUnfiredProbesCountAsLate(t *testing.T) {
	p := newProbes(deaf{}, 2)
	assert.True(t, p.schedule(0))
	assert.True(t, p.schedule(time.Hour))
	assert.False(t, p.schedule(0), "there is room for two")
	sample := p.sample(time.Millisecond)
	assert.Equal(t, 1.0, sample.Metrics[spec.Lost], "the other is not due yet")
	assert.GreaterOrEqual(t, sample.Metrics[spec.LateMax], 1.0)
}

// deaf is an engine that never runs anything.
type deaf struct{ engines.Engine }

func (deaf) Schedule(time.Duration, func()) engines.Handle { return nil }

func TestExpiryCountsEveryTimeout(t *testing.T) {
	for _, engine := range []string{"hashedwheel", "hashedwheel+event"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			sample, err := Run(spec.Spec{Measure: spec.Expire, Engine: engine, N: 1000, Span: time.Minute})
			require.NoError(t, err)
			assert.Zero(t, sample.Metrics[spec.Lost])
			assert.Zero(t, sample.Metrics[spec.Early])
			assert.GreaterOrEqual(t, sample.Metrics[spec.LateMin], 0.0)
		})
	}
}

func TestFloorCallsEachTaskInDueOrder(t *testing.T) {
	e, err := engines.Find("floor")
	require.NoError(t, err)
	made, err := e.New()
	require.NoError(t, err)
	floor := made.(*engines.Floor)
	floor.Keep()
	var order []int
	for _, i := range []int{2, 0, 1} {
		h := floor.Schedule(time.Hour, func() { order = append(order, i) })
		floor.Reset(h, time.Duration(i)*time.Minute, nil)
	}
	floor.Sort()
	floor.Run()
	assert.Equal(t, []int{0, 1, 2}, order)
}

func TestJudgeCountsEachFault(t *testing.T) {
	subjects := make([]subject, 7)
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
	fire(5, 1, time.Second, time.Second)                 // ran though cancelled, and the cancel said that it would
	subjects[5].cancelled = time.Second - margin - 1
	fire(6, 1, time.Second, time.Second) // the cancel came late
	subjects[6].cancelled = time.Second - margin
	want := map[string]float64{
		spec.Early: 1, spec.EarlyMs: 5, spec.Repeated: 1, spec.Lost: 1, spec.Revived: 1, spec.Refused: 1,
	}
	assert.Equal(t, want, judge(subjects, true))
	want[spec.Revived], want[spec.Refused] = 2, 0 // without verdicts
	assert.Equal(t, want, judge(subjects, false))
}

func TestPlanCancelsAThirdAndResetsAThird(t *testing.T) {
	subjects := make([]subject, 600)
	calls := make([]int, len(subjects))
	second := make(map[int]int) // calls after the schedule, by the subject's place in a group of six
	for _, e := range plan(subjects, time.Second, time.Millisecond) {
		s, at := &subjects[e.subject], time.Duration(e.subject)*subjectEvery
		if calls[e.subject]++; calls[e.subject] == 1 {
			assert.Equal(t, at, e.at)
			continue
		}
		second[e.subject%6]++
		assert.LessOrEqual(t, e.at, at+s.delay+2*time.Millisecond)
	}
	longest := time.Duration(0)
	for i := range subjects {
		longest = max(longest, subjects[i].delay)
	}
	assert.Greater(t, longest, 3500*time.Millisecond, "beyond a rotation")
	assert.Equal(t, []int{100, 100, 0, 0}, []int{second[0], second[1], second[3], second[4]})
	for _, place := range []int{2, 5} {
		assert.Greater(t, second[place], 60, "resets of the distant ones")
		assert.LessOrEqual(t, second[place], 100)
	}
}

func TestSubjectsCloseToTheirDeadlineAreNotReset(t *testing.T) {
	s := &subject{deadline: margin}
	s.resetTo(time.Hour, nil, time.Now())
	assert.Equal(t, margin, s.deadline)
}
