package runtimetimer_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/timertest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestTimeoutStringTellsTimeStateAndTask(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t)
		expired, _ := timer.NewTimeout(idle, 8*time.Millisecond)
		cancelled, _ := timer.NewTimeout(idle, time.Minute)
		pending, _ := timer.AfterFunc(5*time.Second, func() {})
		require.True(t, cancelled.Cancel())
		now, _ := timer.NewTimeout(idle, 0)
		assert.Equal(t, "timeout(now, task hwt.TaskFunc)", fmt.Sprint(now))

		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, "timeout(12ms ago, expired, task hwt.TaskFunc)", fmt.Sprint(expired))
		assert.Equal(t, "timeout(in 59.98s, cancelled, task hwt.TaskFunc)", fmt.Sprint(cancelled))
		assert.Equal(t, "timeout(in 4.98s, task task.Func)", fmt.Sprint(pending))
		for _, delay := range []time.Duration{math.MaxInt64, math.MaxInt64 - time.Millisecond} {
			endless, _ := timer.NewTimeout(idle, delay)
			assert.Equal(t, "timeout(never, task hwt.TaskFunc)", fmt.Sprint(endless), "%v", delay)
		}
	})
}

func TestSizesAreWhatTheDocumentationSays(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("the figures are for 64-bit machines")
	}
	assert.EqualValues(t, 40, runtimetimer.TimeoutSize, "allocated as 48")
	assert.EqualValues(t, 48, runtimetimer.ArmSize)
}
