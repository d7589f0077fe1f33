package hashedwheel

import (
	"math"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// still returns a timer whose worker sleeps throughout the test.
func still(t *testing.T, options ...Options) *Timer {
	o := append(options, Options{})[0]
	o.TickDuration = time.Hour
	timer, err := New(&o)
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	timer.Start()
	return timer
}

func TestNewTimeoutAllocates48BytesOnce(t *testing.T) {
	for name, timer := range map[string]*Timer{"plain": still(t), "limited": still(t, Options{MaxPendingTimeouts: 1 << 40})} {
		var task hwt.TimerTask = hwt.TaskFunc(func(hwt.Timeout) error { return nil })
		const n = 1_000
		least := math.Inf(1) // of ten tries, because the count includes the wheel's memory at times
		for range 10 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			allocs := testing.AllocsPerRun(n, func() { _, _ = timer.NewTimeout(task, time.Hour) })
			runtime.ReadMemStats(&after)
			assert.EqualValues(t, 1, allocs, name)
			least = min(least, float64(after.TotalAlloc-before.TotalAlloc)/n)
		}
		if strconv.IntSize == 64 {
			assert.InDelta(t, 48, least, 1, name)
		}
	}
}

func TestAfterFuncAllocatesOnce(t *testing.T) {
	timer := still(t)
	f := func() {}
	assert.EqualValues(t, 1, testing.AllocsPerRun(1000, func() { _, _ = timer.AfterFunc(time.Hour, f) }))
}

func TestCancelAndResetAllocateNothing(t *testing.T) {
	timer := still(t)
	timeouts := make([]hwt.Timeout, 2002)
	for i := range timeouts {
		timeout, err := timer.AfterFunc(10*time.Hour, func() {})
		require.NoError(t, err)
		timeouts[i] = timeout
	}
	i := 0
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		timeouts[i].Reset(20 * time.Hour) // later
		timeouts[i].Reset(5 * time.Hour)  // sooner
		i++
	}), "Reset")
	i = 0
	assert.Zero(t, testing.AllocsPerRun(2000, func() {
		timeouts[i].Cancel()
		timeouts[i].Cancel()
		i++
	}), "Cancel")
}

func TestReadingTheCountsAllocatesNothing(t *testing.T) {
	timer := still(t)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_ = timer.Pending()
		_ = timer.Stats()
	}))
}
