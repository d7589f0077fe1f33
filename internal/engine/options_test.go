package engine

import (
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

var sundial = Limits{
	Package: "sundial", TickDuration: time.Second,
	TicksPerWheel: 12, MinTicksPerWheel: 2, MaxTicksPerWheel: 24,
}

func TestDefaultsAreFilledIn(t *testing.T) {
	o, err := Options{}.Complete(sundial)
	require.NoError(t, err)
	assert.Equal(t, Options{
		TickDuration: time.Second, TicksPerWheel: 12, Workers: 1, Logger: slog.Default(), Name: "sundial",
		SlowTaskThreshold: 10 * time.Second, StopTimeout: 5 * time.Second,
	}, o)
}

func TestSlowTaskThresholdOfAShortTick(t *testing.T) {
	o, err := Options{TickDuration: time.Millisecond}.Complete(sundial)
	require.NoError(t, err)
	assert.Equal(t, 100*time.Millisecond, o.SlowTaskThreshold)
}

func TestNegativeDurationsAreOff(t *testing.T) {
	o, err := Options{SlowTaskThreshold: -1, StopTimeout: -1}.Complete(sundial)
	require.NoError(t, err)
	cfg := o.Config(nil, nil)
	assert.Zero(t, cfg.SlowTask)
	assert.Zero(t, cfg.StopWait)
}

type inline struct{}

func (inline) Execute(task func()) error {
	task()
	return nil
}

func TestEveryOptionReachesTheCore(t *testing.T) {
	log, handled := slog.New(slog.DiscardHandler), false
	o, err := Options{
		TickDuration: time.Hour, TicksPerWheel: 7, Workers: 3, MaxPendingTimeouts: 9, Executor: inline{}, Logger: log,
		ErrorHandler: func(hwt.Timeout, error) { handled = true }, Name: "noon",
		SlowTaskThreshold: time.Minute, StopTimeout: time.Second, DisableLeakDetection: true, RecordCallers: true, LabelTasks: true,
	}.Complete(sundial)
	require.NoError(t, err)
	assert.Equal(t, 7, o.TicksPerWheel)
	assert.True(t, o.DisableLeakDetection)
	cfg := o.Config(nil, nil)
	assert.Equal(t, time.Hour, cfg.Tick)
	assert.Equal(t, 3, cfg.Workers)
	assert.EqualValues(t, 9, cfg.MaxPending)
	assert.Equal(t, time.Minute, cfg.SlowTask)
	assert.Equal(t, time.Second, cfg.StopWait)
	assert.Equal(t, "noon", cfg.Runner.Name)
	assert.True(t, cfg.Callers)
	assert.NotNil(t, cfg.Runner.Labels)
	assert.Same(t, log, cfg.Runner.Logger)
	assert.Equal(t, inline{}, cfg.Runner.Executor)
	cfg.Runner.OnError(nil, nil)
	assert.True(t, handled)
}

func TestValueOutsideItsRangeIsRejected(t *testing.T) {
	for want, o := range map[string]Options{
		"sundial: Options.TickDuration: -1ns (expected: 0 for the default, or at least 1ms)":        {TickDuration: -1},
		"sundial: Options.TickDuration: 999.999µs (expected: 0 for the default, or at least 1ms)":   {TickDuration: time.Millisecond - 1},
		"sundial: Options.MaxPendingTimeouts: -1 (expected: 0 for no limit, or more)":               {MaxPendingTimeouts: -1},
		"sundial: Options.TicksPerWheel: 1 (expected: 0 for the default, or 2 to 24)":               {TicksPerWheel: 1},
		"sundial: Options.Workers: -1 (expected: 0 for the default, or 1 to 1024)":                  {Workers: -1},
		"sundial: Options.Workers: 1025 (expected: 0 for the default, or 1 to 1024)":                {Workers: 1025},
		"sundial: Options.Executor: (*engine.inline)(nil) (expected: nil for none, or an executor)": {Executor: (*inline)(nil)},
	} {
		_, err := o.Complete(sundial)
		assert.EqualError(t, err, want)
	}
}

func TestSlowTaskThresholdOfTheLongestTick(t *testing.T) {
	o, err := Options{TickDuration: math.MaxInt64}.Complete(sundial)
	require.NoError(t, err)
	assert.Positive(t, o.SlowTaskThreshold)
}
