package shared

import (
	"math"
	"os"
	"os/exec"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
)

// none is a timer that rejects all timeouts and has no goroutine.
type none struct{}

func (none) NewTimeout(hwt.TimerTask, time.Duration) (hwt.Timeout, error) {
	return nil, hwt.ErrStopped
}
func (none) Stop() []hwt.Timeout { return nil }

// fresh forgets the clock, before the test and after it.
func fresh(t *testing.T) {
	current.Store(nil)
	t.Cleanup(func() { current.Store(nil) })
}

func TestUseComesFirstAndOnce(t *testing.T) {
	fresh(t)
	require.NoError(t, Use(none{}, time.Second))
	used := Clock()
	assert.ErrorContains(t, Use(none{}, time.Second), "a timer is already in use")
	assert.Same(t, used, Clock())
}

func TestUseRejectsInvalidArguments(t *testing.T) {
	fresh(t)
	assert.EqualError(t, Use(none{}, -1), "dropin: Use: tick is -1ns (expected: 0 for none, or more)")
	assert.EqualError(t, Use(nil, 0), "dropin: Use: clock: New: timer is nil (expected: an hwt.Timer)")
	assert.NoError(t, Use(none{}, 0), "refusals leave nothing")
}

func TestUseTakesTheLongestTick(t *testing.T) {
	fresh(t)
	assert.NoError(t, Use(none{}, math.MaxInt64))
}

// asked is a timer that rejects all timeouts and keeps their delays.
type asked struct {
	none
	delays []time.Duration
}

func (a *asked) NewTimeout(_ hwt.TimerTask, d time.Duration) (hwt.Timeout, error) {
	a.delays = append(a.delays, d)
	return nil, hwt.ErrStopped
}

func TestDelaysBelowTwoTicksAreRuntimeTimers(t *testing.T) {
	fresh(t)
	var timer asked
	require.NoError(t, Use(&timer, time.Hour))
	for _, d := range []time.Duration{time.Hour, 2*time.Hour - 1, 2 * time.Hour} {
		assert.True(t, Clock().NewTimer(d).Stop())
	}
	assert.Equal(t, []time.Duration{2 * time.Hour}, timer.delays)
}

func TestBubblesHaveNoClock(t *testing.T) {
	fresh(t)
	synctest.Test(t, func(t *testing.T) { assert.Nil(t, Clock()) })
	assert.Nil(t, current.Load(), "none was made")
	require.NoError(t, Use(none{}, 0))
	synctest.Test(t, func(t *testing.T) { assert.Nil(t, Clock()) })
	assert.NotNil(t, Clock())
}

// TestFirstUsersShareOneClock runs in a separate process, whose wheel stays.
func TestFirstUsersShareOneClock(t *testing.T) {
	if os.Getenv("SHARED_CHILD") == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestFirstUsersShareOneClock$")
		child.Env = append(os.Environ(), "SHARED_CHILD=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	var clocks [8]*clock.Clock
	var all sync.WaitGroup
	for i := range clocks {
		all.Go(func() { clocks[i] = Clock() })
	}
	all.Wait()
	for _, c := range clocks {
		assert.NotNil(t, c)
		assert.Same(t, clocks[0], c)
	}
	assert.ErrorContains(t, Use(none{}, 0), "before the first timer")
}
