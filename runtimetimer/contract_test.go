package runtimetimer_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hwttest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	hwttest.Run(t, func(tb testing.TB, c hwttest.Options) hwt.Engine {
		timer, err := runtimetimer.New(&runtimetimer.Options{
			MaxPendingTimeouts: c.MaxPendingTimeouts,
			Executor:           c.Executor,
			Logger:             c.Logger,
			ErrorHandler:       c.ErrorHandler,
			RecordCallers:      c.RecordCallers,
			LabelTasks:         c.LabelTasks,
		})
		require.NoError(tb, err)
		return timer
	})
}
