package hashedwheel_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// BenchmarkBatch measures the time from NewTimeouts of a batch that is due within a tick until
// all its tasks have run, for tasks of two durations.
func BenchmarkBatch(b *testing.B) {
	const batch = 100_000
	for _, takes := range []time.Duration{0, 2 * time.Microsecond} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("takes=%v/workers=%d", takes, workers), func(b *testing.B) {
				timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond, Workers: workers})
				require.NoError(b, err)
				defer timer.Stop()
				var left sync.WaitGroup
				tasks := slices.Repeat([]hwt.TimerTask{hwt.TaskFunc(func(hwt.Timeout) error {
					for began := time.Now(); time.Since(began) < takes; {
					}
					left.Done()
					return nil
				})}, batch)
				for b.Loop() {
					left.Add(batch)
					if _, err := timer.NewTimeouts(tasks, time.Millisecond); err != nil {
						b.Fatal(err)
					}
					left.Wait()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/timeout")
			})
		}
	}
}
