package hashedwheel_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/cli"
)

// benchTimer returns a timer with a tick of 1 ms and a number of pending timeouts.
func benchTimer(b *testing.B, pending int) *hashedwheel.Timer {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond})
	require.NoError(b, err)
	b.Cleanup(func() { timer.Stop() })
	for range pending {
		_, err := timer.NewTimeout(nop, time.Hour)
		require.NoError(b, err)
	}
	timer.Start()
	time.Sleep(10 * time.Millisecond) // real: until the worker has drained them
	return timer
}

var nop = hwt.TaskFunc(func(hwt.Timeout) error { return nil })

// BenchmarkArmCancel compares an Arm and a Cancel of an event with NewTimeout and Cancel.
func BenchmarkArmCancel(b *testing.B) {
	for _, c := range []struct{ pending, producers int }{{0, 1}, {1_000_000, 1}, {0, 2}} {
		for _, kind := range []string{"event", "timeout"} {
			b.Run(fmt.Sprintf("pending=%d/producers=%d/%s", c.pending, c.producers, kind), func(b *testing.B) {
				timer := benchTimer(b, c.pending)
				var ready, done sync.WaitGroup
				ready.Add(1)
				for range c.producers {
					done.Go(func() {
						event := new(hwt.Event)
						if err := event.Init(timer, nop); err != nil {
							panic(err)
						}
						ready.Wait()
						for range b.N / c.producers {
							if kind == "event" {
								_ = event.Arm(time.Minute)
								event.Cancel()
							} else {
								timeout, _ := timer.NewTimeout(nop, time.Minute)
								timeout.Cancel()
							}
						}
					})
				}
				b.ReportAllocs()
				b.ResetTimer()
				ready.Done()
				done.Wait()
			})
		}
	}
}

// BenchmarkRearm compares an Arm of an event that has ended with Reset of a time.Timer that
// has been stopped. Each event is armed once in a tick.
func BenchmarkRearm(b *testing.B) {
	const n = 10_000
	b.Run("event", func(b *testing.B) {
		timer := benchTimer(b, 0)
		events := make([]hwt.Event, n)
		for i := range events {
			require.NoError(b, events[i].Init(timer, nop))
		}
		rearm(b, n, func(i int) { _ = events[i].Arm(time.Minute) }, func(i int) { events[i].Cancel() })
	})
	b.Run("time.Timer", func(b *testing.B) {
		timers := make([]*time.Timer, n)
		for i := range timers {
			timers[i] = time.AfterFunc(time.Hour, func() {})
			timers[i].Stop()
		}
		rearm(b, n, func(i int) { timers[i].Reset(time.Minute) }, func(i int) { timers[i].Stop() })
	})
}

// rearm measures arm alone.
func rearm(b *testing.B, n int, arm, cancel func(i int)) {
	b.ReportAllocs()
	for done := 0; done < b.N; done += n {
		b.StopTimer()
		for i := range n {
			cancel(i)
		}
		time.Sleep(5 * time.Millisecond) // real: until the worker has drained them
		b.StartTimer()
		for i := range min(n, b.N-done) {
			arm(i)
		}
	}
}

// heap returns the bytes of live heap.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkBurst measures tasks that are due within a second, by events and by timeouts. cpu-ns
// is the processor time of the whole process for one of them, from the first call until the last
// has run. heap-B is the heap of a pending one, with the event.
func BenchmarkBurst(b *testing.B) {
	for _, kind := range []string{"event", "timeout"} {
		b.Run(kind, func(b *testing.B) {
			timer := benchTimer(b, 0)
			var ran atomic.Int64
			all := make(chan struct{})
			task := hwt.TaskFunc(func(hwt.Timeout) error {
				if ran.Add(1) == int64(b.N) {
					close(all)
				}
				return nil
			})
			before := heap()
			var events []hwt.Event
			if kind == "event" {
				events = make([]hwt.Event, b.N)
			}
			for i := range events {
				require.NoError(b, events[i].Init(timer, task))
			}
			b.ReportAllocs()
			b.ResetTimer()
			began, _ := cli.CPUTime()
			for i := range b.N {
				delay := time.Second + time.Duration(i)*time.Second/time.Duration(b.N)
				if kind == "event" {
					_ = events[i].Arm(delay)
				} else {
					_, _ = timer.NewTimeout(task, delay)
				}
			}
			<-all
			if now, ok := cli.CPUTime(); ok {
				b.ReportMetric(float64(now-began)/float64(b.N), "cpu-ns")
			}
			for i := range min(b.N, len(events)) {
				_ = events[i].Arm(time.Hour + time.Duration(i)*time.Microsecond)
			}
			time.Sleep(500 * time.Millisecond) // real: until the worker has drained them
			if kind == "event" {
				b.ReportMetric(float64(heap()-before)/float64(b.N), "heap-B")
			}
			b.ReportMetric(float64(timer.Stats().Lateness.Quantile(0.99).Microseconds()), "p99-µs")
		})
	}
}
