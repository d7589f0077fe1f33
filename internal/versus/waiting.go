package versus

import (
	"runtime"
	"testing"
	"time"
)

// PendingHeap reports the heap memory per timeout with a million pending.
func PendingHeap(b *testing.B, newTimer Factory) {
	for b.Loop() {
		timer := newTimer(b)
		timer.Start()
		delays := far(million)
		before := heap()
		for _, d := range delays {
			_, err := timer.NewTimeout(nop, d)
			must(b, err)
		}
		time.Sleep(time.Second)
		b.ReportMetric(float64(heap()-before)/million, "heap-B/timeout")
		runtime.KeepAlive(delays)
		timer.Stop()
	}
	b.ReportMetric(0, "ns/op")
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Idle reports the cost of a timer while no timeout is due: wakeups per second, and the
// share of one processor. It measures a timer without timeouts, and one with a million
// far ones.
func Idle(b *testing.B, newTimer Factory) {
	for name, pending := range map[string]int{"pending=0": 0, "pending=1e6": million} {
		b.Run(name, func(b *testing.B) {
			timer := newTimer.start(b)
			timer.Start()
			for _, d := range far(pending) {
				_, err := timer.NewTimeout(nop, d)
				must(b, err)
			}
			time.Sleep(time.Second)
			for b.Loop() {
				const span = 5 * time.Second
				wakeups := timer.Stats().Wakeups
				used := CPU(b, 1, func() { time.Sleep(span) })
				b.ReportMetric(float64(timer.Stats().Wakeups-wakeups)/span.Seconds(), "wakeups/s")
				b.ReportMetric(100*used/float64(span), "%core")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
