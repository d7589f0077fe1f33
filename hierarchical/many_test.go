package hierarchical_test

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hierarchical"
)

const limit = 400 << 20 // bytes

// resident returns the memory that the Go runtime holds from the system.
func resident() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestTwoMillionPending schedules two million timeouts over 1 ms to 30 days, cancels every
// tenth, and stops. All memory, including the test's lists, must stay within 400 MiB. It
// measures memory on the real clock, and does not depend on the speed of the machine.
func TestTwoMillionPending(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second and 400 MiB")
	}
	const n, month = 2_000_000, 30 * 24 * time.Hour
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit * 3 / 4)) // a soft limit, which may be exceeded
	before := heapInUse()
	timer, err := hierarchical.New(nil)
	require.NoError(t, err)

	begin := time.Now()
	r := rand.New(rand.NewPCG(1, 2))
	var tenth []hwt.Timeout
	for i := range n {
		timeout, err := timer.NewTimeout(nop, time.Millisecond+time.Duration(r.Int64N(int64(month))))
		require.NoError(t, err)
		if i%10 == 0 {
			tenth = append(tenth, timeout)
		}
	}
	scheduled := time.Since(begin)
	drain(t, timer)
	t.Logf("scheduled in %v, added after %v, on %d levels", scheduled, time.Since(begin), timer.Levels())
	most := resident()
	held := float64(heapInUse()-before) / n
	t.Logf("heap: %.1f bytes per timeout, including the list of every tenth", held)
	assert.Less(t, held, 96.0)

	begin, cancelled := time.Now(), int64(0)
	for _, timeout := range tenth {
		if timeout.Cancel() {
			cancelled++
		}
	}
	t.Logf("cancelled %d in %v", cancelled, time.Since(begin))
	tenth = nil

	begin = time.Now()
	unprocessed := timer.Stop()
	t.Logf("stopped in %v", time.Since(begin))
	s := timer.Stats()
	assert.EqualValues(t, n, s.Accepted)
	assert.EqualValues(t, cancelled, s.Cancelled)
	assert.EqualValues(t, len(unprocessed), s.Unprocessed)
	assert.EqualValues(t, n, s.Expired+s.Cancelled+s.Unprocessed)
	assert.Greater(t, len(unprocessed), n*8/10, "few expired so soon")
	for _, timeout := range unprocessed {
		if !timeout.IsCancelled() {
			require.Fail(t, "returned by Stop, but not cancelled")
		}
	}
	most = max(most, resident())
	t.Logf("memory from the system: %d MiB", most>>20)
	assert.Less(t, most, uint64(limit))
}

// drain waits until the worker has drained the intake: no tick leaves timeouts to the next.
func drain(t *testing.T, timer *hierarchical.Timer) {
	for left := int64(-1); ; {
		s := timer.Stats()
		if s.DeferredTicks == left {
			return
		}
		left = s.DeferredTicks
		time.Sleep(200 * time.Millisecond) // many ticks on the real clock
	}
}
