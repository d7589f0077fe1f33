package clock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// TestEndLeavesTimersThatHaveExpired calls End between the expiry of timeouts, which
// replaced those that the timer's Stop returned, and their tasks.
func TestEndLeavesTimersThatHaveExpired(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c := newIdleClock(t)
		once, ticker := c.NewTimer(time.Hour), c.NewTicker(time.Hour)
		runs := 0
		job, err := c.ScheduleFunc(&times{left: 1}, func() { runs++ }, nil)
		require.NoError(t, err)
		time.Sleep(time.Hour)
		all := []hwt.Timeout{once.timeout, ticker.group.timeout, job.timeout}
		for _, timeout := range all {
			timeout.(*idleTimeout).expired = true
			assert.Empty(t, c.End([]hwt.Timeout{&idleTimeout{task: timeout.Task(), cancelled: true}}))
		}
		for _, timeout := range all {
			expire(t, timeout)
		}
		synctest.Wait()
		assert.Len(t, once.C, 1)
		assert.Len(t, ticker.C, 1)
		assert.Equal(t, 1, runs)
	})
}
