package hashedwheel

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// TestOverloadCompetitor is the competing process of TestOverloadIsBounded.
func TestOverloadCompetitor(t *testing.T) {
	if os.Getenv("HWT_COMPETITOR") == "" {
		t.Skip("runs in a process of its own")
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
	}
}

// Real: a process on every processor, twenty busy goroutines, and four callers at full
// speed, with more processors for Go than there are.
func TestOverloadIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes every processor for seconds")
	}
	for range runtime.NumCPU() {
		rival := exec.Command(os.Args[0], "-test.run=^TestOverloadCompetitor$")
		rival.Env = append(os.Environ(), "HWT_COMPETITOR=1", "GOMAXPROCS=1")
		require.NoError(t, rival.Start())
		defer rival.Wait()
		defer rival.Process.Kill()
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2 * runtime.NumCPU()))
	timer, err := New(&Options{TickDuration: time.Millisecond, Executor: spawn{}})
	require.NoError(t, err)
	var stop atomic.Bool
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for !stop.Load() {
			}
		})
	}
	task := hwt.TaskFunc(func(hwt.Timeout) error { return nil })
	for range 4 {
		all.Go(func() {
			for !stop.Load() {
				_, err := timer.NewTimeout(task, rand.N(100*time.Millisecond))
				assert.NoError(t, err)
			}
		})
	}
	time.Sleep(8 * time.Second) // the duration of the load
	s := timer.Stats()
	stop.Store(true)
	all.Wait()
	timer.Stop()
	const rested = 4 * 8 * 100 * 128 // pushes of four callers that rest for 10 ms after each 128
	assert.Less(t, s.Pending, max(rested, s.Accepted/4*3), "callers outran the worker")
	t.Logf("%d of %d pending, lag up to %v", s.Pending, s.Accepted, s.MaxLag)
}
