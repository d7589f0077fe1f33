//go:build unix

package sqlite_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

func openBench(b *testing.B, o *sqlite.Options) *sqlite.Store {
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "timers.db"), o)
	require.NoError(b, err)
	b.Cleanup(func() { s.Close() })
	return s
}

// cpu returns the processor time of the process.
func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCalls measures calls by 64 goroutines.
func BenchmarkCalls(b *testing.B) {
	for _, sync := range []time.Duration{0, 100 * time.Millisecond} {
		s := openBench(b, &sqlite.Options{SyncEvery: sync})
		due := time.Now().Add(24 * time.Hour)
		var n atomic.Int64
		for _, c := range []struct {
			name string
			call func(key string) error
		}{
			{"Set", func(key string) error { _, err := s.Set(b.Context(), key, due, nil); return err }},
			{"Move", func(key string) error { _, err := s.Move(b.Context(), key, due); return err }},
			{"Cancel", func(key string) error { _, err := s.Cancel(b.Context(), key); return err }},
		} {
			b.Run(fmt.Sprintf("%s/sync=%v", c.name, sync), func(b *testing.B) {
				n.Store(0)
				b.SetParallelism(32)
				start := cpu()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						c.call(fmt.Sprintf("order-%08d", n.Add(1)))
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
				b.ReportMetric(float64((cpu()-start).Microseconds())/float64(b.N), "cpu-us/op")
			})
		}
	}
}

func entries(from, to int, due func(i int) time.Time) iter.Seq[durable.Entry] {
	return func(yield func(durable.Entry) bool) {
		for i := from; i < to; i++ {
			if !yield(durable.Entry{Key: fmt.Sprintf("order-%08d", i), Due: due(i)}) {
				return
			}
		}
	}
}

// BenchmarkSetMany measures bulk loading, the disk per entry, the heap, and the time of
// Open for the files that a SIGKILL would leave.
func BenchmarkSetMany(b *testing.B) {
	dir := b.TempDir()
	s, err := sqlite.Open(b.Context(), filepath.Join(dir, "timers.db"), nil)
	require.NoError(b, err)
	defer s.Close()
	due := time.Now().Add(24 * time.Hour)
	n, err := s.SetMany(b.Context(), entries(0, b.N, func(i int) time.Time { return due.Add(time.Duration(i) * time.Millisecond) }))
	require.NoError(b, err)
	require.Equal(b, b.N, n)
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
	b.ReportMetric(float64(s.Stats().Bytes)/float64(n), "bytes/entry")
	b.ReportMetric(heap(), "heap-MB")
	copied := b.TempDir()
	for _, name := range []string{"timers.db", "timers.db-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(b, err)
		require.NoError(b, os.WriteFile(filepath.Join(copied, name), data, 0o600))
	}
	start := time.Now()
	again, err := sqlite.Open(b.Context(), filepath.Join(copied, "timers.db"), nil)
	require.NoError(b, err)
	b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "open-ms")
	require.NoError(b, again.Close())
}

// heap returns the size of the heap in MB.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}

// BenchmarkBurst fires b.N entries that are due in the same second.
func BenchmarkBurst(b *testing.B) {
	s := openBench(b, nil)
	due := time.Now()
	_, err := s.SetMany(b.Context(), entries(0, b.N, func(i int) time.Time { return due.Add(time.Duration(i) * time.Second / time.Duration(b.N)) }))
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	var fired atomic.Int64
	largest := 0.0
	used := cpu()
	b.ResetTimer()
	err = s.Work(ctx, func(context.Context, durable.Firing) error {
		switch n := fired.Add(1); {
		case n == int64(b.N):
			cancel()
		case n%100_000 == 0:
			largest = max(largest, heap())
		}
		return nil
	}, nil)
	require.NoError(b, err)
	require.EqualValues(b, b.N, fired.Load())
	require.Zero(b, s.Stats().Pending+s.Stats().Claimed)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "firings/s")
	b.ReportMetric(float64((cpu()-used).Microseconds())/float64(b.N), "cpu-us/op")
	b.ReportMetric(largest, "heap-MB")
}

// BenchmarkLateness sets and fires entries at a constant rate for b.N/rate seconds.
func BenchmarkLateness(b *testing.B) {
	for _, rate := range []int{1000, 5000} {
		b.Run(fmt.Sprintf("rate=%d", rate), func(b *testing.B) {
			s := openBench(b, nil)
			ctx, cancel := context.WithCancel(b.Context())
			var fired atomic.Int64
			var work sync.WaitGroup
			work.Go(func() {
				s.Work(ctx, func(context.Context, durable.Firing) error {
					if fired.Add(1) == int64(b.N) {
						cancel()
					}
					return nil
				}, nil)
			})
			start, used := time.Now(), cpu()
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for i := 0; i < b.N; { // two seconds ahead
				<-tick.C
				upTo := min(b.N, int(time.Since(start).Seconds()*float64(rate)))
				_, err := s.SetMany(ctx, entries(i, upTo, func(j int) time.Time {
					return start.Add(2*time.Second + time.Duration(j)*time.Second/time.Duration(rate))
				}))
				require.NoError(b, err)
				i = upTo
			}
			work.Wait()
			st := s.Stats()
			b.ReportMetric(float64(st.Lateness.Quantile(0.5).Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(st.Lateness.Quantile(0.99).Microseconds())/1000, "p99-ms")
			b.ReportMetric(100*float64(cpu()-used)/float64(time.Since(start)), "%cpu")
		})
	}
}
