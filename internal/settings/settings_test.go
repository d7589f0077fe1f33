package settings_test

import (
	"bytes"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/settings"
)

func common() settings.Common {
	return settings.New("sundial", settings.Defaults{
		Tick: time.Second, MinTick: time.Millisecond, SlowTaskTicks: 10, StopTimeout: time.Minute,
	})
}

func TestEveryRefusalNamesOptionValueAndRange(t *testing.T) {
	c := common()
	for want, err := range map[string]error{
		"sundial: WithTickDuration: 0s (expected: > 0)":         c.SetTickDuration(0),
		"sundial: WithTickDuration: -1ns (expected: > 0)":       c.SetTickDuration(-1),
		"sundial: WithExecutor: nil (expected: an executor)":    c.SetExecutor(nil),
		"sundial: WithLogger: nil (expected: a logger)":         c.SetLogger(nil),
		"sundial: WithErrorHandler: nil (expected: a function)": c.SetErrorHandler(nil),
		`sundial: WithName: "" (expected: a name)`:              c.SetName(""),
		"sundial: WithSlowTaskThreshold: -1ns (expected: >= 0)": c.SetSlowTaskThreshold(-1),
		"sundial: WithStopTimeout: -5s (expected: >= 0)":        c.SetStopTimeout(-5 * time.Second),
		"sundial: WithBuckets: 9 (expected: 1 to 3)":            c.Refuse("WithBuckets", 9, "1 to 3"),
		"sundial: New: option 1 is nil (expected: a With function's result)": settings.Apply("sundial", &c,
			[]func(*settings.Common) error{func(*settings.Common) error { return nil }, nil}),
	} {
		assert.EqualError(t, err, want)
	}
}

func TestApplyStopsAtTheFirstError(t *testing.T) {
	c := common()
	err := settings.Apply(c.Engine, &c, []func(*settings.Common) error{
		func(c *settings.Common) error { return c.SetName("noon") },
		func(c *settings.Common) error { return c.SetTickDuration(0) },
		func(c *settings.Common) error { return c.SetName("midnight") },
	})
	assert.Error(t, err)
	assert.Equal(t, "noon", c.Name)
}

func TestDefaults(t *testing.T) {
	c := common()
	c.Complete()
	core := c.Core(nil, nil)
	assert.Equal(t, time.Second, core.Tick)
	assert.Zero(t, core.MaxPending)
	assert.Equal(t, 10*time.Second, core.SlowTask, "ten ticks")
	assert.Equal(t, time.Minute, core.StopWait)
	assert.Equal(t, "sundial", core.Runner.Name)
	assert.Same(t, slog.Default(), core.Runner.Logger)
	assert.Nil(t, core.Runner.Executor)
	assert.Nil(t, core.Runner.OnError)
	assert.True(t, c.LeakDetection)
}

type inline struct{}

func (inline) Execute(task func()) error {
	task()
	return nil
}

func TestEverySettingReachesTheCore(t *testing.T) {
	c, log := common(), slog.New(slog.DiscardHandler)
	handled := false
	for _, err := range []error{
		c.SetTickDuration(time.Hour), c.SetMaxPendingTimeouts(7), c.SetExecutor(inline{}), c.SetLogger(log),
		c.SetErrorHandler(func(hwt.Timeout, error) { handled = true }), c.SetName("noon"),
		c.SetSlowTaskThreshold(0), c.SetStopTimeout(0), c.SetLeakDetection(false),
	} {
		require.NoError(t, err)
	}
	c.Complete()
	core := c.Core(nil, nil)
	assert.Equal(t, time.Hour, core.Tick)
	assert.EqualValues(t, 7, core.MaxPending)
	assert.Zero(t, core.SlowTask, "never slow")
	assert.Zero(t, core.StopWait)
	assert.Equal(t, "noon", core.Runner.Name)
	assert.Same(t, log, core.Runner.Logger)
	assert.Equal(t, inline{}, core.Runner.Executor)
	core.Runner.OnError(nil, nil)
	assert.True(t, handled)
	assert.False(t, c.LeakDetection)
}

func TestNegativeLimitIsNone(t *testing.T) {
	c := common()
	require.NoError(t, c.SetMaxPendingTimeouts(math.MinInt64))
	assert.Zero(t, c.Core(nil, nil).MaxPending)
}

func TestShortTickIsRaisedWithAWarning(t *testing.T) {
	var out bytes.Buffer
	c := common()
	require.NoError(t, c.SetLogger(slog.New(slog.NewTextHandler(&out, nil))))
	require.NoError(t, c.SetTickDuration(time.Millisecond))
	c.Complete()
	assert.Empty(t, out.String(), "the shortest is fine")
	require.NoError(t, c.SetTickDuration(time.Millisecond-1))
	c.Complete()
	assert.Equal(t, time.Millisecond, c.Tick)
	assert.Contains(t, out.String(), `msg="sundial: tick duration raised to the shortest possible" timer=sundial asked=999.999µs tick=1ms`)
}

func TestSlowTaskThresholdOfTheLongestTick(t *testing.T) {
	c := common()
	require.NoError(t, c.SetTickDuration(math.MaxInt64))
	c.Complete()
	assert.Positive(t, c.Core(nil, nil).SlowTask)
}
