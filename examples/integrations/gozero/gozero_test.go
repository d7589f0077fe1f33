package gozero_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zeromicro/go-zero/core/collection"
	"github.com/zeromicro/go-zero/core/timex"

	"github.com/hashedwheel/hwt/examples/integrations/gozero"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// wheel has the methods of both timing wheels.
type wheel interface {
	SetTimer(key, value any, delay time.Duration) error
	MoveTimer(key any, delay time.Duration) error
	Drain(fn func(key, value any)) error
	Stop()
}

// step is the interval of go-zero's wheels.
const step = time.Minute

// firing runs f in a bubble with a wheel of either kind, and returns the steps after
// which "a" fired within 40 steps. f may let n steps pass by calling pass(n).
func firing(t *testing.T, theirs bool, f func(w wheel, pass func(n int))) (fired []int) {
	synctest.Test(t, func(t *testing.T) {
		var steps atomic.Int64
		var mu sync.Mutex
		fire := func(key, _ any) {
			mu.Lock()
			defer mu.Unlock()
			fired = append(fired, int(steps.Load()))
		}
		var w wheel
		var err error
		tick := func() { time.Sleep(step) }
		if theirs {
			ticker := timex.NewFakeTicker()
			w, err = collection.NewTimingWheelWithTicker(step, 10, fire, ticker)
			tick = ticker.Tick
		} else {
			timer, newErr := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Second})
			require.NoError(t, newErr)
			defer timer.Stop()
			time.Sleep(time.Second) // steps end between two ticks of the timer
			w, err = gozero.NewTimingWheel(timer, fire)
		}
		require.NoError(t, err)
		defer w.Stop()
		pass := func(n int) {
			for range n {
				steps.Add(1)
				tick()
				synctest.Wait()
			}
		}
		f(w, pass)
		synctest.Wait()
		pass(40)
		mu.Lock() // orders the firings before the return
		defer mu.Unlock()
	})
	return fired
}

// Each fault of go-zero is a program, and the steps after which the key fires.
var faults = []struct {
	name         string
	run          func(w wheel, pass func(n int))
	ours, theirs []int
}{
	{
		name: "a move to less than an interval fires immediately, and again at the old time",
		run: func(w wheel, pass func(int)) {
			w.SetTimer("a", 1, 4*step)
			w.MoveTimer("a", step/2)
		},
		ours: []int{1}, theirs: []int{0, 4},
	},
	{
		name: "a delay is rounded down",
		run: func(w wheel, pass func(int)) {
			w.SetTimer("a", 1, 2*step-2*time.Second)
		},
		ours: []int{2}, theirs: []int{1},
	},
	{
		name: "a move across the first slot waits for another turn",
		run: func(w wheel, pass func(int)) {
			pass(6)
			w.SetTimer("a", 1, 7*step)
			w.MoveTimer("a", 3*step-2*time.Second)
		},
		ours: []int{9}, theirs: []int{18},
	},
	{
		name: "a key that is set after a Drain never fires",
		run: func(w wheel, pass func(int)) {
			w.SetTimer("a", 1, step)
			w.Drain(func(key, value any) {})
			w.SetTimer("a", 1, 2*step-2*time.Second)
		},
		ours: []int{2}, theirs: nil,
	},
}

func TestFaultsOfGoZero(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			assert.Equal(t, fault.ours, firing(t, false, fault.run), "gozero")
			assert.Equal(t, fault.theirs, firing(t, true, fault.run), "go-zero")
		})
	}
}

func TestCacheCanBeClosed(t *testing.T) {
	c, err := gozero.NewCache(nil, time.Minute, 0)
	require.NoError(t, err)
	c.Set("a", 1)
	assert.Equal(t, 1, c.Len())
	c.Close()
	c.Set("b", 1)
	assert.Zero(t, c.Len())
}

// TestGoZerosTests runs go-zero's own tests against the adapters. An overlay puts the
// files of its package into testdata, except the wheel and the cache.
func TestGoZerosTests(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a package of go-zero")
	}
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/zeromicro/go-zero/core/collection").Output()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*.go"))
	require.NoError(t, err)
	here, err := filepath.Abs("testdata")
	require.NoError(t, err)
	replace := map[string]string{filepath.Join(here, "adapters.go"): filepath.Join(here, "adapters.go.txt")}
	for _, file := range files {
		if base := filepath.Base(file); base != "timingwheel.go" && base != "cache.go" {
			replace[filepath.Join(here, base)] = file
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	out, err := exec.Command("go", "test", "-overlay", overlay, "-count=1", "-v", "-timeout", "2m",
		"-run", "TimingWheel|MoveAndRemove|TestCache",
		"-skip", "MoveTimerSoon", // wants the early call
		"./testdata").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- PASS: TestTimingWheel_SetAndMoveTwice")
	assert.Contains(t, string(out), "--- PASS: TestCacheWithLruEvicted")
}
