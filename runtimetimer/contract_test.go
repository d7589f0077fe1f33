package runtimetimer_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt/internal/timertest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	timertest.Run(t, func(tb testing.TB, c timertest.Config) timertest.Engine {
		timer, err := runtimetimer.New(options(c)...)
		require.NoError(tb, err)
		return timer
	})
}

func options(c timertest.Config) []runtimetimer.Option {
	options := []runtimetimer.Option{runtimetimer.WithMaxPendingTimeouts(c.MaxPending)}
	if c.Executor != nil {
		options = append(options, runtimetimer.WithExecutor(c.Executor))
	}
	if c.ErrorHandler != nil {
		options = append(options, runtimetimer.WithErrorHandler(c.ErrorHandler))
	}
	if c.Logger != nil {
		options = append(options, runtimetimer.WithLogger(c.Logger))
	}
	return options
}
