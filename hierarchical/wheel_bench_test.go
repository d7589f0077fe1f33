package hierarchical

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/hashedwheel/hwt/internal/engine/store"
)

// BenchmarkWheel measures only the wheel, including reads of ticks: it adds a million
// timeouts due within a thousand ticks, and lets all expire.
func BenchmarkWheel(b *testing.B) {
	const n = 1_000_000
	for name, begin := range map[string]int64{"begin=2000": 2000, "begin=8192": 8192, "begin=600000": 600_000} {
		b.Run(name, func(b *testing.B) {
			type timeout struct {
				store.Node // first, so that both have the same address
				tick       int64
			}
			timeouts := make([]*timeout, n)
			for i := range timeouts {
				timeouts[i] = &timeout{tick: begin + rand.Int64N(1000)}
			}
			reinserted := 0
			for b.Loop() {
				w := newWheel(defaultTicksPerWheel, new(atomic.Int64))
				for _, t := range timeouts {
					w.Add(&t.Node, t.tick)
				}
				var due []*store.Node
				for next := w.Next(); next < math.MaxInt64; next = w.Next() {
					w.MoveTo(next)
					due = w.Expire(due[:0])
					for _, t := range due {
						if tick := (*timeout)(unsafe.Pointer(t)).tick; tick > next {
							w.Add(t, tick)
							reinserted++
						}
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/timeout")
			b.ReportMetric(float64(reinserted)/float64(b.N)/n, "reinserted/timeout")
			b.ReportMetric(0, "ns/op")
		})
	}
}
