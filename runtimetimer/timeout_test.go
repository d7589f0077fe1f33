package runtimetimer_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestTimeoutStringHasTimeStateAndTask(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t)
		expired, _ := timer.NewTimeout(new(counter), 8*time.Millisecond)
		cancelled, _ := timer.NewTimeout(new(counter), time.Minute)
		pending, _ := timer.AfterFunc(5*time.Second, nop)
		require.True(t, cancelled.Cancel())
		now, _ := timer.NewTimeout(new(counter), 0)
		assert.Equal(t, "timeout(now, task *runtimetimer_test.counter)", fmt.Sprint(now))

		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, "timeout(12ms ago, expired, task *runtimetimer_test.counter)", fmt.Sprint(expired))
		assert.Equal(t, "timeout(in 59.98s, cancelled, task *runtimetimer_test.counter)", fmt.Sprint(cancelled))
		assert.Contains(t, fmt.Sprint(pending), "timeout(in 4.98s, task github.com/hashedwheel/hwt/runtimetimer_test.nop (")
		for _, delay := range []time.Duration{math.MaxInt64, math.MaxInt64 - time.Millisecond} {
			endless, _ := timer.NewTimeout(new(counter), delay)
			assert.Equal(t, "timeout(never, task *runtimetimer_test.counter)", fmt.Sprint(endless), "%v", delay)
		}
	})
}

func TestSizesMatchTheDocumentation(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("the sizes are those of 64-bit machines")
	}
	assert.EqualValues(t, 48, runtimetimer.TimeoutSize)
	assert.Equal(t, unsafe.Sizeof(hwt.Event{}), runtimetimer.TimeoutSize)
	assert.EqualValues(t, 48, runtimetimer.EntrySize)
}

func nop() {}

// Real: the timer is outside of the bubble, whose time the timer could have.
func TestNoRuntimeTimerIsMadeInABubbleOfTheFuture(t *testing.T) {
	start := time.Now()
	timer, err := runtimetimer.New(&runtimetimer.Options{MaxPendingTimeouts: 1})
	require.NoError(t, err)
	defer timer.Stop()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(start.Add(50 * time.Second)))
		assert.Panics(t, func() { _, _ = timer.AfterFunc(0, nop) })
		assert.Panics(t, func() { _, _ = timer.NewTimeouts([]hwt.TimerTask{new(counter)}, 0) })
	})
	assert.Zero(t, timer.Pending())
	timeout, err := timer.AfterFunc(0, nop)
	require.NoError(t, err, "the calls that panicked took no place")
	require.Eventually(t, timeout.IsExpired, 10*time.Second, time.Millisecond)
}
