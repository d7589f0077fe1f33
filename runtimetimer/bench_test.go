package runtimetimer_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cli"
	"github.com/hashedwheel/hwt/runtimetimer"
)

var idle = hwt.TaskFunc(func(hwt.Timeout) error { return nil })

// BenchmarkScheduleCancel compares the engine with a bare time.AfterFunc and Stop.
func BenchmarkScheduleCancel(b *testing.B) {
	for _, pending := range []int{0, 1e5} {
		name := fmt.Sprintf("pending=%d", pending)
		b.Run("engine=bare/"+name, func(b *testing.B) {
			for _, t := range bareTimers(pending) {
				defer t.Stop()
			}
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				bareCycle()
			}
		})
		b.Run("engine=runtimetimer/"+name, func(b *testing.B) {
			t := newTimer(b)
			fill(pending, func(d time.Duration) { _, _ = t.NewTimeout(idle, d) })
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				cycle(t)
			}
		})
	}
}

// BenchmarkScheduleCancelParallel is BenchmarkScheduleCancel on all processors.
func BenchmarkScheduleCancelParallel(b *testing.B) {
	b.Run("engine=bare", func(b *testing.B) {
		b.ReportAllocs()
		defer reportCPU(b)()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				bareCycle()
			}
		})
	})
	b.Run("engine=runtimetimer", func(b *testing.B) {
		t := newTimer(b)
		b.ReportAllocs()
		defer reportCPU(b)()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				cycle(t)
			}
		})
	})
}

// bareCycle uses a closure that captures a variable, as users' closures do.
func bareCycle() {
	n := time.Hour
	time.AfterFunc(n, func() { runtime.KeepAlive(n) }).Stop()
}

func cycle(t *runtimetimer.Timer) {
	timeout, _ := t.NewTimeout(idle, time.Hour)
	timeout.Cancel()
}

// BenchmarkReset repeatedly resets one timeout to a later time.
func BenchmarkReset(b *testing.B) {
	b.Run("engine=bare", func(b *testing.B) {
		t := time.AfterFunc(time.Hour, func() {})
		defer t.Stop()
		b.ReportAllocs()
		defer reportCPU(b)()
		for b.Loop() {
			t.Reset(time.Hour)
		}
	})
	b.Run("engine=runtimetimer", func(b *testing.B) {
		timeout, _ := newTimer(b).NewTimeout(idle, time.Hour)
		b.ReportAllocs()
		defer reportCPU(b)()
		for b.Loop() {
			timeout.Reset(time.Hour)
		}
	})
}

// BenchmarkHeap measures the heap that a pending timeout holds.
func BenchmarkHeap(b *testing.B) {
	const n = 200_000
	b.Run("engine=bare", func(b *testing.B) {
		for b.Loop() {
			var timers []*time.Timer
			reportHeap(b, n, func() { timers = bareTimers(n) })
			for _, t := range timers {
				t.Stop()
			}
		}
	})
	b.Run("engine=runtimetimer", func(b *testing.B) {
		for b.Loop() {
			t := newTimer(b)
			reportHeap(b, n, func() {
				fill(n, func(d time.Duration) { _, _ = t.NewTimeout(idle, d) })
			})
			t.Stop()
		}
	})
}

func reportHeap(b *testing.B, n int, f func()) {
	purgeRuntimeTimers()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(n), "B/pending")
}

// purgeRuntimeTimers lets the runtime release stopped timers, which it keeps while its
// processors are busy.
func purgeRuntimeTimers() {
	for range 10 {
		time.Sleep(time.Millisecond)
	}
}

func bareTimers(n int) []*time.Timer {
	timers := make([]*time.Timer, 0, n)
	fill(n, func(d time.Duration) {
		timers = append(timers, time.AfterFunc(d, func() { runtime.KeepAlive(d) }))
	})
	return timers
}

// reportCPU reports the processor time of the process, including the garbage
// collector. On a shared machine it is more accurate than wall time.
func reportCPU(b *testing.B) (report func()) {
	before, ok := cli.CPUTime()
	return func() {
		if after, _ := cli.CPUTime(); ok {
			b.ReportMetric(float64(after-before)/float64(b.N), "cpu-ns/op")
		}
	}
}

func fill(n int, schedule func(time.Duration)) {
	for i := range n {
		schedule(time.Hour + time.Duration(i)*time.Millisecond)
	}
}

func newTimer(tb testing.TB, options ...runtimetimer.Options) *runtimetimer.Timer {
	tb.Helper()
	t, err := runtimetimer.New(&append(options, runtimetimer.Options{})[0])
	require.NoError(tb, err)
	tb.Cleanup(func() { t.Stop() })
	return t
}
