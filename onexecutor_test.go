package hwt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func TestOnExecutorWithoutATaskOrExecutorAddsNothing(t *testing.T) {
	task := hwt.TaskFunc(func(hwt.Timeout) error { return nil })
	assert.Nil(t, hwt.OnExecutor(hwt.ExecutorFunc(func(func()) error { return nil }), nil))
	_, isFunc := hwt.OnExecutor(nil, task).(hwt.TaskFunc)
	assert.True(t, isFunc)
}

// A CancelledTask within two OnExecutors must be notified.
type notified struct {
	hwt.TaskFunc
	told chan struct{}
}

func (n *notified) Cancelled(hwt.Timeout) { close(n.told) }

func TestOuterOnExecutorWins(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer, err := hashedwheel.New(nil)
		require.NoError(t, err)
		defer timer.Stop()
		inner := hwt.ExecutorFunc(func(func()) error { return errors.New("not this executor") })
		task := &notified{told: make(chan struct{})}
		outer := hwt.ExecutorFunc(func(run func()) error {
			run()
			return nil
		})
		timeout, err := timer.NewTimeout(hwt.OnExecutor(outer, hwt.OnExecutor(inner, task)), time.Hour)
		require.NoError(t, err)
		timeout.Cancel()
		<-task.told
		assert.Zero(t, timer.Stats().ExecutorRejected)
		_, err = timer.Shutdown(context.Background())
		assert.NoError(t, err)
	})
}
