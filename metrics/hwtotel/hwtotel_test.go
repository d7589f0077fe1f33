package hwtotel_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/metrics"
	"github.com/hashedwheel/hwt/metrics/hwtotel"
)

func newTimer(t *testing.T) *hashedwheel.Timer {
	timer, err := hashedwheel.New(nil)
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	return timer
}

func newMeter() (metric.Meter, *sdk.ManualReader) {
	reader := sdk.NewManualReader()
	return sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test"), reader
}

// collect returns the metrics that reader collects, by name.
func collect(t *testing.T, reader *sdk.ManualReader) map[string]metricdata.Metrics {
	var data metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &data))
	byName := make(map[string]metricdata.Metrics)
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			byName[m.Name] = m
		}
	}
	return byName
}

func TestCollectionHasTheCounts(t *testing.T) {
	timer := newTimer(t)
	meter, reader := newMeter()
	registration, err := hwtotel.Register(meter, "orders", metrics.Timer(timer))
	require.NoError(t, err)
	for range 3 {
		_, err := timer.AfterFunc(time.Hour, func() {})
		require.NoError(t, err)
	}

	data := collect(t, reader)
	accepted := data["hwt.timer.accepted"].Data.(metricdata.Sum[float64])
	assert.True(t, accepted.IsMonotonic)
	assert.Equal(t, 3.0, accepted.DataPoints[0].Value)
	assert.Equal(t, attribute.NewSet(attribute.String("hwt.name", "orders")), accepted.DataPoints[0].Attributes)
	pending := data["hwt.timer.pending"].Data.(metricdata.Gauge[float64])
	assert.Equal(t, 3.0, pending.DataPoints[0].Value)
	assert.Equal(t, "s", data["hwt.timer.max_lag"].Unit)
	assert.Equal(t, "Timeouts scheduled", data["hwt.timer.accepted"].Description)

	require.NoError(t, registration.Unregister())
	assert.Empty(t, collect(t, reader))
}

func TestCountsHaveUnitsInBraces(t *testing.T) {
	meter, reader := newMeter()
	_, err := hwtotel.Register(meter, "orders", both{metrics.Timer(newTimer(t)), plain{}})
	require.NoError(t, err)
	units := make(map[string]string)
	for name, m := range collect(t, reader) {
		units[name] = m.Unit
	}
	assert.Equal(t, "{timeout}", units["hwt.timer.accepted"])
	assert.Equal(t, "{timeout}", units["hwt.timer.pending"])
	assert.Equal(t, "{value}", units["hwt.timer.lateness.bucket"])
	assert.Equal(t, "{count}", units["hwt.queue.messages"])
	assert.Equal(t, "s", units["hwt.timer.lag"])
}

// plain is a source whose unit is empty.
type plain struct{}

func (plain) Describe() []metrics.Desc {
	return []metrics.Desc{{Name: "queue.messages", Help: "Messages"}}
}
func (plain) Read() []metrics.Value { return []metrics.Value{{Number: 1}} }

// sized is a source of one counter and one histogram with the same value.
type sized struct{ value uint64 }

func (sized) Describe() []metrics.Desc {
	return []metrics.Desc{{Name: "queue.messages", Help: "Messages"}, {Name: "queue.size", Help: "Sizes", Kind: metrics.Histogram}}
}

func (s sized) Read() []metrics.Value {
	return []metrics.Value{{Number: float64(s.value)}, {Buckets: []metrics.Bucket{{Bound: 1, Count: s.value}}}}
}

func deltas(sdk.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }

func TestReplacedSourceHasNoNegativeGrowth(t *testing.T) {
	for name, test := range map[string]struct {
		temporality    sdk.TemporalitySelector
		collectBetween bool
		want           float64
	}{
		"cumulative":                {sdk.DefaultTemporalitySelector, false, 7},
		"delta":                     {deltas, false, 2},
		"cumulative, after a break": {sdk.DefaultTemporalitySelector, true, 2},
		"delta, after a break":      {deltas, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			reader := sdk.NewManualReader(sdk.WithTemporalitySelector(test.temporality))
			meter := sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test")
			for _, value := range []uint64{5, 2} {
				registration, err := hwtotel.Register(meter, "mail", sized{value})
				require.NoError(t, err)
				data := collect(t, reader)
				want := 5.0
				if value == 2 {
					want = test.want
				}
				for _, name := range []string{"hwt.queue.messages", "hwt.queue.size.bucket"} {
					points := data[name].Data.(metricdata.Sum[float64]).DataPoints
					require.Len(t, points, 1)
					assert.Equal(t, want, points[0].Value, name)
				}
				require.NoError(t, registration.Unregister())
				if test.collectBetween {
					assert.Empty(t, collect(t, reader))
				}
			}
		})
	}
}

func TestTwoTimersShareTheInstruments(t *testing.T) {
	timer := newTimer(t)
	meter, reader := newMeter()
	for _, name := range []string{"one", "two"} {
		_, err := hwtotel.Register(meter, name, metrics.Timer(timer))
		require.NoError(t, err)
	}
	assert.Len(t, collect(t, reader)["hwt.timer.pending"].Data.(metricdata.Gauge[float64]).DataPoints, 2)
}

func TestNameRegisteredTwiceIsRejected(t *testing.T) {
	timer := newTimer(t)
	meter, reader := newMeter()
	first, err := hwtotel.Register(meter, "orders", metrics.Timer(timer))
	require.NoError(t, err)
	_, err = hwtotel.Register(meter, "orders", metrics.Timer(timer))
	assert.EqualError(t, err, `hwtotel: Register: name "orders" is in use for timer.pending (expected: another name, or Unregister first)`)
	timer.AfterFunc(time.Hour, func() {})
	assert.Equal(t, 1.0, collect(t, reader)["hwt.timer.accepted"].Data.(metricdata.Sum[float64]).DataPoints[0].Value)

	_, err = hwtotel.Register(meter, "orders", sizes{"queue.message_size"})
	assert.NoError(t, err, "another kind")
	other, _ := newMeter()
	_, err = hwtotel.Register(other, "orders", metrics.Timer(timer))
	assert.NoError(t, err, "another meter")
	require.NoError(t, first.Unregister())
	again, err := hwtotel.Register(meter, "orders", metrics.Timer(timer))
	require.NoError(t, err, "after Unregister")
	require.NoError(t, first.Unregister(), "the second time")
	_, err = hwtotel.Register(meter, "orders", metrics.Timer(timer))
	assert.Error(t, err)
	require.NoError(t, again.Unregister())
}

// TestFailedRegistrationLeavesNothing registers a source whose last metric is rejected.
func TestFailedRegistrationLeavesNothing(t *testing.T) {
	meter, reader := newMeter()
	_, err := hwtotel.Register(meter, "mail", both{sizes{"queue.message_size"}, sizes{"no spaces"}})
	require.Error(t, err)
	assert.Empty(t, collect(t, reader))
	_, err = hwtotel.Register(meter, "mail", sizes{"queue.message_size"})
	assert.NoError(t, err)
	_, err = hwtotel.Register(meter, "twice", both{sizes{"queue.message_size"}, sizes{"queue.message_size"}})
	assert.Error(t, err, "a source that repeats a metric")
	_, err = hwtotel.Register(meter, "twice", sizes{"queue.message_size"})
	assert.NoError(t, err)
}

// both is two sources in one.
type both struct{ first, second metrics.Source }

func (b both) Describe() []metrics.Desc { return append(b.first.Describe(), b.second.Describe()...) }
func (b both) Read() []metrics.Value    { return append(b.first.Read(), b.second.Read()...) }

func TestNoopMetersShareNames(t *testing.T) {
	for range 2 {
		_, err := hwtotel.Register(noop.Meter{}, "orders", sizes{"queue.message_size"})
		assert.NoError(t, err)
	}
}

func TestInvalidArgumentsAreRejected(t *testing.T) {
	meter, _ := newMeter()
	_, err := hwtotel.Register(meter, "\xff", sizes{"queue.message_size"})
	assert.EqualError(t, err, `hwtotel: Register: name is "\xff" (expected: valid UTF-8)`)
	_, err = hwtotel.Register(meter, "orders", metrics.Timer(nil))
	assert.EqualError(t, err, `hwtotel: Register: source of "orders" is nil (expected: a metrics.Source)`)
	_, err = hwtotel.Register(nil, "orders", sizes{"queue.message_size"})
	assert.EqualError(t, err, `hwtotel: Register: meter of "orders" is nil (expected: a metric.Meter)`)
}

// sizes is a source from outside the library.
type sizes struct{ name string }

func (s sizes) Describe() []metrics.Desc {
	return []metrics.Desc{{Name: s.name, Help: "Sizes of messages", Unit: "bytes", Kind: metrics.Histogram}}
}

func (sizes) Read() []metrics.Value {
	return []metrics.Value{{Number: 25, Buckets: buckets}}
}

func TestBucketsOfAHistogramAreCounters(t *testing.T) {
	meter, reader := newMeter()
	_, err := hwtotel.Register(meter, "mail", sizes{"queue.message_size"})
	require.NoError(t, err)
	counts := make(map[string]float64)
	for _, p := range collect(t, reader)["hwt.queue.message_size.bucket"].Data.(metricdata.Sum[float64]).DataPoints {
		bound, ok := p.Attributes.Value("le")
		require.True(t, ok)
		counts[bound.AsString()] = p.Value
	}
	assert.Equal(t, map[string]float64{"1": 5, "4": 7, "+Inf": 8}, counts)
}

// noBuckets is a source with a histogram that has no buckets yet.
type noBuckets struct{ metrics.Source }

func (n noBuckets) Read() []metrics.Value { return make([]metrics.Value, len(n.Describe())) }

func TestHistogramWithoutBucketsHasNoValue(t *testing.T) {
	meter, reader := newMeter()
	_, err := hwtotel.Register(meter, "orders", noBuckets{metrics.Timer(newTimer(t))})
	require.NoError(t, err)
	data := collect(t, reader)
	assert.Contains(t, data, "hwt.timer.lag")
	assert.NotContains(t, data, "hwt.timer.lateness.bucket")
}

func TestNameRejectedByTheMeterIsAnError(t *testing.T) {
	meter, _ := newMeter()
	_, err := hwtotel.Register(meter, "mail", sizes{"no spaces"})
	assert.ErrorContains(t, err, "hwtotel: no spaces: ")
}

var buckets = []metrics.Bucket{{Bound: 1, Count: 5}, {Bound: 4, Count: 2}, {Bound: math.Inf(1), Count: 1}}
