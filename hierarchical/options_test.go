package hierarchical_test

import (
	"bytes"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/timertest"
)

func TestBadOptionsAreErrors(t *testing.T) {
	for want, option := range map[string]hierarchical.Option{
		"hierarchical: WithTicksPerWheel: 0 (expected: 2 to 1048576)":             hierarchical.WithTicksPerWheel(0),
		"hierarchical: WithTicksPerWheel: 1 (expected: 2 to 1048576)":             hierarchical.WithTicksPerWheel(1),
		"hierarchical: WithTicksPerWheel: -64 (expected: 2 to 1048576)":           hierarchical.WithTicksPerWheel(-64),
		"hierarchical: WithTicksPerWheel: 1048577 (expected: 2 to 1048576)":       hierarchical.WithTicksPerWheel(1<<20 + 1),
		"hierarchical: WithTickDuration: 0s (expected: > 0)":                      hierarchical.WithTickDuration(0),
		"hierarchical: WithExecutor: nil (expected: an executor)":                 hierarchical.WithExecutor(nil),
		"hierarchical: WithLogger: nil (expected: a logger)":                      hierarchical.WithLogger(nil),
		"hierarchical: WithErrorHandler: nil (expected: a function)":              hierarchical.WithErrorHandler(nil),
		`hierarchical: WithName: "" (expected: a name)`:                           hierarchical.WithName(""),
		"hierarchical: WithSlowTaskThreshold: -1s (expected: >= 0)":               hierarchical.WithSlowTaskThreshold(-time.Second),
		"hierarchical: WithStopTimeout: -1s (expected: >= 0)":                     hierarchical.WithStopTimeout(-time.Second),
		"hierarchical: New: option 0 is nil (expected: a With function's result)": nil,
	} {
		timer, err := hierarchical.New(option)
		assert.EqualError(t, err, want)
		assert.Nil(t, timer)
	}
}

func TestExtremeOptionsAreFine(t *testing.T) {
	for _, options := range [][]hierarchical.Option{
		{hierarchical.WithTicksPerWheel(hierarchical.MinTicksPerWheel), hierarchical.WithTickDuration(math.MaxInt64)},
		{hierarchical.WithTicksPerWheel(hierarchical.MaxTicksPerWheel), hierarchical.WithTickDuration(math.MaxInt64)},
		{hierarchical.WithTicksPerWheel(hierarchical.MaxTicksPerWheel)},
		{hierarchical.WithMaxPendingTimeouts(-1), hierarchical.WithSlowTaskThreshold(0), hierarchical.WithStopTimeout(0)},
		{hierarchical.WithLeakDetection(false)},
	} {
		timertest.Bubble(t, func(t *testing.T) {
			timer, err := hierarchical.New(options...)
			require.NoError(t, err)
			for _, delay := range []time.Duration{0, time.Hour, math.MaxInt64} {
				_, err = timer.NewTimeout(nop, delay)
				require.NoError(t, err)
			}
			time.Sleep(time.Hour / 2)
			assert.GreaterOrEqual(t, len(timer.Stop()), 2)
		})
	}
}

func TestShortTickIsRaised(t *testing.T) {
	var log bytes.Buffer
	timer, err := hierarchical.New(
		hierarchical.WithTickDuration(time.Microsecond), hierarchical.WithName("fine"),
		hierarchical.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	require.NoError(t, err)
	defer timer.Stop()
	assert.Contains(t, log.String(), "tick duration raised")
	assert.Equal(t, "hierarchical.Timer(fine, tick 1ms, 1 levels of 64 buckets, 0 pending)", timer.String())
}
