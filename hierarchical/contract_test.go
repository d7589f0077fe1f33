package hierarchical_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/timertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	for name, size := range map[string]int{"wheel=2": 2, "wheel=3": 3, "wheel=64": 64} {
		t.Run(name, func(t *testing.T) {
			timertest.Run(t, func(tb testing.TB, c timertest.Config) timertest.Engine {
				return newTimer(tb, c, hierarchical.WithTicksPerWheel(size))
			})
		})
	}
}

// newTimer makes the timer that the suite asks for.
func newTimer(tb testing.TB, c timertest.Config, options ...hierarchical.Option) *hierarchical.Timer {
	options = append(options,
		hierarchical.WithTickDuration(c.Tick), hierarchical.WithMaxPendingTimeouts(c.MaxPending))
	if c.Executor != nil {
		options = append(options, hierarchical.WithExecutor(c.Executor))
	}
	if c.ErrorHandler != nil {
		options = append(options, hierarchical.WithErrorHandler(c.ErrorHandler))
	}
	if c.Logger != nil {
		options = append(options, hierarchical.WithLogger(c.Logger))
	}
	timer, err := hierarchical.New(options...)
	require.NoError(tb, err)
	return timer
}

var _ hwt.Timer = (*hierarchical.Timer)(nil)
