package hierarchical_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/hwttest"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	all := []hierarchical.Options{
		{TicksPerWheel: 3, Workers: 7},
		{TicksPerWheel: 64, Workers: 1},
		{TicksPerWheel: 2, Workers: 1},
	}
	// Package hashedwheel tests the shared engine with one worker.
	for _, o := range all[:enginetest.Effort(len(all), 1, 2)] {
		t.Run(fmt.Sprintf("wheel=%d,workers=%d", o.TicksPerWheel, o.Workers), func(t *testing.T) {
			hwttest.Run(t, func(tb testing.TB, c hwttest.Options) hwt.Engine {
				return newTimer(tb, c, o)
			})
		})
	}
}

// newTimer returns the timer that the suite requests.
func newTimer(tb testing.TB, c hwttest.Options, o hierarchical.Options) *hierarchical.Timer {
	o.TickDuration, o.MaxPendingTimeouts, o.Executor = c.TickDuration, c.MaxPendingTimeouts, c.Executor
	o.Logger, o.ErrorHandler = c.Logger, c.ErrorHandler
	o.RecordCallers, o.LabelTasks = c.RecordCallers, c.LabelTasks
	timer, err := hierarchical.New(&o)
	require.NoError(tb, err)
	return timer
}
