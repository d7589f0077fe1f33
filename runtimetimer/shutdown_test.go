package runtimetimer_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
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

// The runtime has started the goroutine of a timeout that then ends in another way.
func TestStopWaitsForAGoroutineOnItsWay(t *testing.T) {
	for name, end := range map[string]func(hwt.Timeout){
		"cancelled": func(timeout hwt.Timeout) { timeout.Cancel() },
		"reset":     func(timeout hwt.Timeout) { timeout.Reset(time.Hour) },
		"stopped":   func(hwt.Timeout) {},
	} {
		synctest.Test(t, func(t *testing.T) {
			timer, err := runtimetimer.New(nil)
			require.NoError(t, err)
			timeout, err := timer.AfterFunc(time.Second, nop)
			require.NoError(t, err)
			fire := runtimetimer.FireLate(timeout)
			end(timeout)
			arrived := false
			time.AfterFunc(time.Second, func() { arrived = true; fire() })
			timer.Stop()
			assert.True(t, arrived, name)
		})
	}
}
