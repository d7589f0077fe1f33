package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// busy keeps all processors busy with n goroutines that work for a while and yield, until
// the test ends.
func busy(t *testing.T, n int) {
	var over atomic.Bool
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for !over.Load() {
				for begin := time.Now(); time.Since(begin) < 200*time.Microsecond; {
				}
				runtime.Gosched()
			}
		})
	}
	t.Cleanup(func() {
		over.Store(true)
		all.Wait()
	})
}

// The real clock, because only an overloaded processor makes a fast task seem slow.
func TestTaskWithoutAProcessorIsNotSlow(t *testing.T) {
	e := newTimer(t, func(c *Config) { c.Tick, c.SlowTask = time.Millisecond, 10*time.Millisecond })
	busy(t, 100)
	var ran atomic.Int64
	var again func()
	again = func() {
		ran.Add(1)
		_, _ = e.AfterFunc(time.Millisecond, again)
	}
	for range 20 {
		e.after(t, 0, again)
	}
	require.Eventually(t, func() bool { return ran.Load() > 2000 }, time.Minute, time.Millisecond)
	assert.Zero(t, e.Stats().SlowTasks)
}

func TestSlowTaskIsFoundAmongBusyGoroutines(t *testing.T) {
	e := newTimer(t, func(c *Config) { c.Tick, c.SlowTask = time.Millisecond, 10*time.Millisecond })
	busy(t, 20)
	release := make(chan struct{})
	e.after(t, 0, func() { <-release })
	require.Eventually(t, func() bool { return e.Stats().SlowTasks == 1 }, time.Minute, time.Millisecond)
	close(release)
}
