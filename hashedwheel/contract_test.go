package hashedwheel_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/timertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	for name, size := range map[string]int{"wheel=1": 1, "wheel=8": 8, "wheel=512": 512} {
		t.Run(name, func(t *testing.T) {
			timertest.Run(t, func(tb testing.TB, c timertest.Config) timertest.Engine {
				return newTimer(tb, c, hashedwheel.WithTicksPerWheel(size))
			})
		})
	}
}

// newTimer makes the timer that the suite asks for.
func newTimer(tb testing.TB, c timertest.Config, options ...hashedwheel.Option) *hashedwheel.Timer {
	options = append(options,
		hashedwheel.WithTickDuration(c.Tick), hashedwheel.WithMaxPendingTimeouts(c.MaxPending))
	if c.Executor != nil {
		options = append(options, hashedwheel.WithExecutor(c.Executor))
	}
	if c.ErrorHandler != nil {
		options = append(options, hashedwheel.WithErrorHandler(c.ErrorHandler))
	}
	if c.Logger != nil {
		options = append(options, hashedwheel.WithLogger(c.Logger))
	}
	timer, err := hashedwheel.New(options...)
	require.NoError(tb, err)
	return timer
}

var _ hwt.Timer = (*hashedwheel.Timer)(nil)
