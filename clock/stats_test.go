package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
)

func TestStatsCountFailuresAndFallbackTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer, err := hashedwheel.New(&hashedwheel.Options{MaxPendingTimeouts: 1})
		require.NoError(t, err)
		defer timer.Stop()
		c, err := clock.New(timer, &clock.Options{ErrorHandler: func(error) {}})
		require.NoError(t, err)
		c.AfterFunc(time.Second, func() { panic("no") })
		c.AfterFunc(time.Second, func() {})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, clock.Stats{Failures: 1, FallbackTimers: 1}, c.Stats())
	})
}
