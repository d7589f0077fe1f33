package engines

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/internal/cacheline"
)

// floorTask is as large as an object with an event and a task of the measurement expire.
type floorTask struct {
	_    [6]int64
	due  int64
	late *atomic.Int64
}

// BenchmarkFloorOfAnExpiry calls a million tasks from a slice. Each reads the clock, and writes
// its lateness to a place of its own. CPU counts per task:
//
//	go -C bench test ./internal/engines -run - -bench Floor -benchtime 1x -count 5
func BenchmarkFloorOfAnExpiry(b *testing.B) {
	const n, ahead = 1_000_000, 8
	for _, c := range []struct {
		name     string
		sorted   bool
		prefetch func(next, later *floorTask)
	}{
		{"in the order of memory", false, func(*floorTask, *floorTask) {}},
		{"in due order", true, func(*floorTask, *floorTask) {}},
		{"in due order, prefetched", true, func(_, later *floorTask) { cacheline.PrefetchPair(unsafe.Pointer(later)) }},
		{"in due order, prefetched with what they write", true, func(next, later *floorTask) {
			cacheline.PrefetchPair(unsafe.Pointer(later))
			cacheline.PrefetchPair(unsafe.Pointer(next.late))
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			late, tasks := make([]atomic.Int64, n), make([]*floorTask, n+2*ahead)
			for i := range tasks {
				tasks[i] = &floorTask{due: rand.Int64N(int64(time.Second)), late: &late[i%n]}
			}
			if c.sorted {
				slices.SortFunc(tasks, func(x, y *floorTask) int { return cmp.Compare(x.due, y.due) })
			}
			begin, used := time.Now(), proc.Now()
			for b.Loop() {
				for i, t := range tasks[:n] {
					c.prefetch(tasks[i+ahead], tasks[i+2*ahead])
					t.late.Swap(int64(time.Since(begin)) - t.due)
				}
			}
			b.ReportMetric(float64(proc.Now().Sub(used).CPU)/float64(n*b.N), "cpu-ns/task")
		})
	}
}
