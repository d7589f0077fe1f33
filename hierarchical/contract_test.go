package hierarchical_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/hwttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	for _, o := range []hierarchical.Options{
		{TicksPerWheel: 2, Workers: 1},
		{TicksPerWheel: 3, Workers: 1},
		{TicksPerWheel: 64, Workers: 1},
		{TicksPerWheel: 64, Workers: 2},
		{TicksPerWheel: 3, Workers: 7},
	} {
		t.Run(fmt.Sprintf("wheel=%d,workers=%d", o.TicksPerWheel, o.Workers), func(t *testing.T) {
			hwttest.Run(t, func(tb testing.TB, c hwttest.Config) hwt.Engine {
				return newTimer(tb, c, o)
			})
		})
	}
}

// newTimer returns the timer that the suite requests.
func newTimer(tb testing.TB, c hwttest.Config, o hierarchical.Options) *hierarchical.Timer {
	o.TickDuration, o.MaxPendingTimeouts, o.Executor = c.Tick, c.MaxPending, c.Executor
	o.Logger, o.ErrorHandler = c.Logger, c.ErrorHandler
	o.RecordCallers, o.LabelTasks = c.RecordCallers, c.LabelTasks
	timer, err := hierarchical.New(&o)
	require.NoError(tb, err)
	return timer
}
