package hashedwheel

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/enginetest"
)

// TestOverloadCompetitor is the competing process of TestOverloadIsBounded.
func TestOverloadCompetitor(t *testing.T) {
	if os.Getenv("HWT_COMPETITOR") == "" {
		t.Skip("runs in a process of its own")
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
	}
}

// overload is the load: a process on every processor, twenty busy goroutines, and four callers
// that schedule at full speed, with more processors for Go than there are.
type overload struct {
	mu   sync.Mutex
	late []time.Duration // of one task in 16. Guarded by mu.
	runs atomic.Int64
}

// run puts the load on an engine for the given time.
func (o *overload) run(d time.Duration, schedule func(delay time.Duration, task func())) {
	var stop atomic.Bool
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for !stop.Load() {
			}
		})
	}
	for range 4 {
		all.Go(func() {
			for !stop.Load() {
				delay := rand.N(100 * time.Millisecond)
				deadline := time.Now().Add(delay)
				schedule(delay, func() { o.note(time.Since(deadline)) })
			}
		})
	}
	time.Sleep(d)
	stop.Store(true)
	all.Wait()
}

func (o *overload) note(late time.Duration) {
	if o.runs.Add(1)%16 == 0 {
		o.mu.Lock()
		o.late = append(o.late, late)
		o.mu.Unlock()
	}
}

// quantile returns the lateness that the given share of the tasks does not exceed.
func (o *overload) quantile(share float64) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.late) == 0 {
		return 0
	}
	slices.Sort(o.late)
	return o.late[int(share*float64(len(o.late)-1))]
}

func (o *overload) String() string {
	ms := func(share float64) int64 { return o.quantile(share).Milliseconds() }
	return fmt.Sprintf("%d tasks, late by %d ms (p50), %d ms (p99), %d ms (max)", o.runs.Load(), ms(0.5), ms(0.99), ms(1))
}

// Real: the time that processes get. Callers do not outrun the worker. The lateness in the log
// depends on the load of the machine.
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
	seconds := enginetest.Effort(3, 1, 1)
	var ours overload
	ours.run(time.Duration(seconds)*time.Second, func(delay time.Duration, task func()) {
		_, err := timer.AfterFunc(delay, task)
		assert.NoError(t, err)
	})
	s := timer.Stats()
	timer.Stop()
	t.Logf("%v, %d of %d pending at the end", &ours, s.Pending, s.Accepted)
	rested := int64(4 * seconds * 100 * 128) // pushes of four callers that rest for 10 ms after each 128
	assert.Less(t, s.Pending, max(rested, s.Accepted/4*3), "callers outran the worker")
}
