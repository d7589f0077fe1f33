package hierarchical_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func TestValueOutsideItsRangeIsAnError(t *testing.T) {
	for want, options := range map[string]hierarchical.Options{
		"TicksPerWheel: 1 (expected: 0 for the default, or 2 to 1048576)":                  {TicksPerWheel: 1},
		"TicksPerWheel: -64 (expected: 0 for the default, or 2 to 1048576)":                {TicksPerWheel: -64},
		"TicksPerWheel: 1048577 (expected: 0 for the default, or 2 to 1048576)":            {TicksPerWheel: 1<<20 + 1},
		"TickDuration: -1ns (expected: 0 for the default, or at least 1ms)":                {TickDuration: -1},
		"Executor: (hierarchical_test.pool)(nil) (expected: nil for none, or an executor)": {Executor: pool(nil)},
	} {
		timer, err := hierarchical.New(&options)
		assert.EqualError(t, err, "hierarchical: Options."+want)
		assert.Nil(t, timer)
	}
}

// pool is an executor.
type pool func(func())

func (p pool) Execute(task func()) error {
	p(task)
	return nil
}

func TestDefaults(t *testing.T) {
	for _, options := range []*hierarchical.Options{nil, {}} {
		timer, err := hierarchical.New(options)
		require.NoError(t, err)
		defer timer.Stop()
		assert.Equal(t, "hierarchical.Timer(hierarchical, tick 1ms, 1 levels of 64 buckets, 0 pending)", timer.String())
	}
}

func TestExtremeOptionsAreAccepted(t *testing.T) {
	for _, options := range []hierarchical.Options{
		{TicksPerWheel: 2, TickDuration: math.MaxInt64},
		{TicksPerWheel: 1 << 20, TickDuration: math.MaxInt64},
		{TicksPerWheel: 1 << 20},
		{SlowTaskThreshold: -1, StopTimeout: -1},
		{DisableLeakDetection: true},
	} {
		enginetest.Bubble(t, func(t *testing.T) {
			timer, err := hierarchical.New(&options)
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
