package runtimetimer_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/runtimetimer"
)

// The tasks call Shutdown, too, and are still in it because another task runs.
func TestShutdownWaitsForATaskThatShutsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer, err := runtimetimer.New(nil)
		require.NoError(t, err)
		_, err = timer.AfterFunc(time.Second, func() { time.Sleep(time.Minute) })
		require.NoError(t, err)
		var ended atomic.Int32
		for range 2 {
			_, err = timer.AfterFunc(time.Second, func() {
				time.Sleep(time.Millisecond) // until the others have begun
				_, err := timer.Shutdown(context.Background())
				assert.NoError(t, err)
				time.Sleep(time.Minute)
				ended.Add(1)
			})
			require.NoError(t, err)
		}
		time.Sleep(2 * time.Second)
		_, err = timer.Shutdown(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 2, ended.Load())
	})
}
