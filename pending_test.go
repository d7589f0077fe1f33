package hwt_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// Real: goroutines that take the processor from each other. With one processor, a reader of
// the counts often loses it between two of them, for ten milliseconds.
func TestPendingOfAPreemptedReaderIsInRange(t *testing.T) {
	const limit = 100
	for name, make := range map[string]func() (hwt.Engine, error){
		"hashedwheel": func() (hwt.Engine, error) { return hashedwheel.New(&hashedwheel.Options{MaxPendingTimeouts: limit}) },
		"workers": func() (hwt.Engine, error) {
			return hashedwheel.New(&hashedwheel.Options{MaxPendingTimeouts: limit, Workers: 3})
		},
		"hierarchical": func() (hwt.Engine, error) { return hierarchical.New(&hierarchical.Options{MaxPendingTimeouts: limit}) },
		"runtimetimer": func() (hwt.Engine, error) { return runtimetimer.New(&runtimetimer.Options{MaxPendingTimeouts: limit}) },
	} {
		for load, most := range map[string]int64{"one": 1, "batches": limit} {
			t.Run(name+"/"+load, func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
				timer, err := make()
				require.NoError(t, err)
				defer timer.Stop()
				var quit atomic.Bool
				var churns sync.WaitGroup
				for range most/limit + 1 { // at most the limit, which two callers of batches reach
					churns.Go(func() {
						for !quit.Load() {
							churn(timer, int(most))
						}
					})
				}
				for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
					for _, n := range []int64{timer.Pending(), timer.Stats().Pending} {
						if n < 0 || n > most {
							t.Errorf("%d pending, want 0 to %d", n, most)
						}
					}
				}
				quit.Store(true)
				churns.Wait()
				assert.Zero(t, timer.Pending())
			})
		}
	}
}

// churn schedules n timeouts together, unless the limit rejects them, and cancels them.
func churn(timer hwt.Engine, n int) {
	tasks := make([]hwt.TimerTask, n)
	for i := range tasks {
		tasks[i] = hwt.TaskFunc(func(hwt.Timeout) error { return nil })
	}
	timeouts, err := timer.NewTimeouts(tasks, time.Hour)
	if err != nil {
		runtime.Gosched()
	}
	for _, timeout := range timeouts {
		timeout.Cancel()
	}
}
