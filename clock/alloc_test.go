package clock_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/enginetest"
)

// withTimeout is the signature of context.WithTimeout.
type withTimeout = func(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc)

// cost returns the allocations of a call of f. Rounding removes the few allocations of
// other goroutines.
func cost(f func()) (allocs, bytes uint64) {
	const n = 20_000
	var before, after runtime.MemStats
	f()
	runtime.ReadMemStats(&before)
	for range n {
		f()
	}
	runtime.ReadMemStats(&after)
	return (after.Mallocs - before.Mallocs) / n, (after.TotalAlloc - before.TotalAlloc) / n
}

func TestContextsAllocateNoMoreThanPackageContext(t *testing.T) {
	c := newClock(t, newTimer(t))
	base, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, parent := range map[string]context.Context{"background": context.Background(), "cancelable": base} {
		use := func(with withTimeout, cause func(context.Context, time.Duration, error) (context.Context, context.CancelFunc)) (plain, caused func()) {
			return func() {
					_, cancel := with(parent, time.Hour)
					cancel()
				}, func() {
					_, cancel := cause(parent, time.Hour, errOurs)
					cancel()
				}
		}
		ours, oursCaused := use(c.WithTimeout, c.WithTimeoutCause)
		theirs, theirsCaused := use(context.WithTimeout, context.WithTimeoutCause)
		for kind, pair := range map[string][2]func(){"plain": {ours, theirs}, "with a cause": {oursCaused, theirsCaused}} {
			allocs, bytes := cost(pair[0])
			mostAllocs, mostBytes := cost(pair[1])
			assert.LessOrEqual(t, allocs, mostAllocs, "allocations, %s %s", name, kind)
			assert.LessOrEqual(t, bytes, mostBytes, "bytes, %s %s", name, kind)
			t.Logf("%s %s: %d B in %d allocations, package context %d B in %d", name, kind, bytes, allocs, mostBytes, mostAllocs)
		}
	}
}

func TestAllocations(t *testing.T) {
	c := newClock(t, newTimer(t))
	timer := c.AfterFunc(time.Hour, func() {})
	parent, cancelParent := context.WithCancel(context.Background())
	defer cancelParent()
	for name, f := range map[string]struct {
		allocs float64
		f      func()
	}{
		"WithTimeout": {3, func() {
			_, cancel := c.WithTimeout(context.Background(), time.Hour)
			cancel()
		}},
		"WithTimeout and Done": {8, func() {
			ctx, cancel := c.WithTimeout(context.Background(), time.Hour)
			ctx.Done()
			cancel()
		}},
		"WithTimeout and Done below another": {10, func() {
			ctx, cancel := c.WithTimeout(parent, time.Hour)
			ctx.Done()
			cancel()
		}},
		"AfterFunc":   {2, func() { c.AfterFunc(time.Hour, func() {}).Stop() }},
		"NewTimer":    {4, func() { c.NewTimer(time.Hour).Stop() }},
		"Timer.Reset": {0, func() { timer.Reset(2 * time.Hour) }},
	} {
		assert.InDelta(t, f.allocs, testing.AllocsPerRun(1000, f.f), 0.1, name)
	}
	ended, cancelEnded := c.WithTimeoutCause(context.Background(), 0, errOurs)
	defer cancelEnded()
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = context.Cause(ended) }), "Cause")
	// The first ticker of a period creates the group.
	first := c.NewTicker(time.Hour)
	defer first.Stop()
	assert.InDelta(t, 3, testing.AllocsPerRun(1000, func() { c.NewTicker(time.Hour).Stop() }), 0.1, "NewTicker")
}

// TestAllocationsOfSleep runs in a bubble, where the worker is never late: a late worker
// allocates.
func TestAllocationsOfSleep(t *testing.T) {
	if enginetest.RaceDetector {
		t.Skip("a sync.Pool drops items at random under the race detector")
	}
	enginetest.Bubble(t, func(t *testing.T) {
		c := newClock(t, newTimer(t))
		assert.InDelta(t, 1, testing.AllocsPerRun(100, func() { c.Sleep(1) }), 0.1)
	})
}

func TestSpecNextDoesNotAllocate(t *testing.T) {
	spec := newSpec(t, "CRON_TZ=Europe/Berlin 30 2 * * 1-5")
	at := time.Now()
	assert.Zero(t, testing.AllocsPerRun(1000, func() { at = spec.Next(at) }))
}
