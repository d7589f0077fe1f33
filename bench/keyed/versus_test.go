package keyed

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/stats"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/cputime"
)

// versusRounds is how often each side is measured, where a round is long.
const versusRounds = 5

// versus measures ours and theirs in turn, so many rounds of n operations each,
// and reports the medians.
func versus(b *testing.B, rounds, n int, ours, theirs func()) {
	b.Helper()
	for b.Loop() {
		var a, t []float64
		for range rounds {
			a = append(a, cpu(b, n, ours))
			t = append(t, cpu(b, n, theirs))
		}
		b.ReportMetric(median(a), "hwt-cpu-ns")
		b.ReportMetric(median(t), "rival-cpu-ns")
		b.ReportMetric(median(a)/median(t), "cpu-ratio")
		b.ReportMetric(0, "ns/op")
	}
}

// cpu returns the process CPU time that f takes for each of n operations.
func cpu(tb testing.TB, n int, f func()) float64 {
	runtime.GC()
	before, ok := cputime.Process()
	if !ok {
		tb.Skip("this system's CPU accounting is not read")
	}
	f()
	after, _ := cputime.Process()
	return float64(after-before) / float64(n)
}

// median is the middle one, or between the two in the middle.
func median(v []float64) float64 { return stats.Of(v).Median }

// parallel calls f with 0 to n-1, spread over so many goroutines.
func parallel(procs, n int, f func(i int)) {
	var all sync.WaitGroup
	for p := range procs {
		all.Go(func() {
			for i := p; i < n; i += procs {
				f(i)
			}
		})
	}
	all.Wait()
}

// heap returns the bytes of heap in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// newFine returns a hashed wheel with a tick of 1 ms.
func newFine(tb testing.TB) *hashedwheel.Timer {
	tb.Helper()
	timer, err := hashedwheel.New(
		hashedwheel.WithTickDuration(time.Millisecond), hashedwheel.WithTicksPerWheel(8192))
	require.NoError(tb, err)
	tb.Cleanup(func() { timer.Stop() })
	return timer
}
