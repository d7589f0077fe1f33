package hwttest_test

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// guest is a task that records whether it ran early.
type guest struct {
	due   atomic.Int64 // earliest allowed time, in nanoseconds since begin
	runs  atomic.Int64
	early atomic.Bool
	begin time.Time
}

func (s *guest) Run(hwt.Timeout) error {
	if int64(time.Since(s.begin)) < s.due.Load() {
		s.early.Store(true)
	}
	s.runs.Add(1)
	return nil
}

// TestStarvedEngineRunsEachTaskOnce runs every engine on one
// processor, next to busy goroutines, and under a memory limit that keeps the garbage
// collector running. It needs the real clock: fake time advances only when all goroutines
// are blocked.
func TestStarvedEngineRunsEachTaskOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1))
	var over atomic.Bool
	var hogs sync.WaitGroup
	defer hogs.Wait()
	defer over.Store(true)
	for range 3 {
		hogs.Go(func() {
			for !over.Load() { // never yields
			}
		})
	}
	var waste atomic.Pointer[[]byte]
	hogs.Go(func() {
		for !over.Load() {
			garbage := make([]byte, 64<<10)
			waste.Store(&garbage)
		}
	})
	for name, newTimer := range makers {
		e, err := newTimer(numbers{tick: time.Millisecond, size: 16})
		require.NoError(t, err)
		starve(t, name, e)
	}
}

// starve schedules, cancels, and resets timeouts, and waits until all have ended.
func starve(t *testing.T, name string, e hwt.Engine) {
	const n = 3000
	begin := time.Now()
	guests := make([]*guest, n)
	cancelled := 0
	for i := range guests {
		delay := time.Duration(i%40) * time.Millisecond
		s := &guest{begin: begin}
		s.due.Store(int64(time.Since(begin) + delay))
		guests[i] = s
		timeout, err := e.NewTimeout(s, delay)
		require.NoError(t, err)
		switch i % 3 {
		case 0:
			if timeout.Cancel() {
				cancelled++
				s.runs.Add(1)
			}
		case 1: // it may run by the old time or the new one
			timeout.Reset(2 * delay)
		}
	}
	require.Eventually(t, func() bool { return e.Pending() == 0 }, time.Minute, 10*time.Millisecond, name)
	assert.Empty(t, e.Stop(), name)
	stats := e.Stats()
	require.Eventually(t, func() bool { // a runtime timer runs its task on another goroutine
		ran := 0
		for _, s := range guests {
			ran += int(s.runs.Load())
		}
		return ran >= n
	}, time.Minute, 10*time.Millisecond, name)
	for _, s := range guests {
		require.EqualValues(t, 1, s.runs.Load(), name)
		require.False(t, s.early.Load(), "%s: early", name)
	}
	assert.EqualValues(t, n, stats.Accepted, name)
	assert.EqualValues(t, cancelled, stats.Cancelled, name)
	assert.EqualValues(t, n-cancelled, stats.Expired, name)
}
