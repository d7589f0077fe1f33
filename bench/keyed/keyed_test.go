package keyed

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zeromicro/go-zero/core/collection"

	"github.com/hashedwheel/hwt/internal/versus"
	"github.com/hashedwheel/hwt/keyed"
)

// newWheels returns both wheels at their usual: ours on a tick of 1 ms, go-zero's
// with the second and 300 slots that its cache gives it.
func newWheels(b *testing.B) (*keyed.Wheel[int64, *int], *collection.TimingWheel) {
	b.Helper()
	ours, err := keyed.New(newFine(b), func(int64, *int) {}, nil)
	require.NoError(b, err)
	theirs, err := collection.NewTimingWheel(time.Second, 300, func(any, any) {})
	require.NoError(b, err)
	b.Cleanup(func() {
		ours.Close()
		theirs.Stop()
	})
	return ours, theirs
}

// fillWheels sets n keys, due in half an hour to an hour and a half, on both.
func fillWheels(b *testing.B, ours *keyed.Wheel[int64, *int], theirs *collection.TimingWheel, n int) {
	b.Helper()
	value := new(int)
	for i := range n {
		delay := 30*time.Minute + time.Hour*time.Duration(i)/time.Duration(n)
		require.NoError(b, ours.Set(int64(i), value, delay))
		require.NoError(b, theirs.SetTimer(int64(i), value, delay))
	}
	time.Sleep(10 * time.Millisecond)
}

// BenchmarkKeyedSetDelete sets new keys and deletes them.
func BenchmarkKeyedSetDelete(b *testing.B) {
	const n = 500_000
	for _, pending := range []int{0, 100_000} {
		for _, procs := range []int{1, 2} {
			b.Run(fmt.Sprintf("pending=%d/procs=%d", pending, procs), func(b *testing.B) {
				ours, theirs := newWheels(b)
				fillWheels(b, ours, theirs, pending)
				value := new(int)
				versus.Compare(b, versus.Rounds, n, func() {
					parallel(procs, n, func(i int) {
						ours.Set(int64(pending+i), value, time.Minute)
						ours.Delete(int64(pending + i))
					})
					time.Sleep(5 * time.Millisecond) // the worker's share counts too
				}, func() {
					parallel(procs, n, func(i int) {
						theirs.SetTimer(int64(pending+i), value, time.Minute)
						theirs.RemoveTimer(int64(pending + i))
					})
					time.Sleep(5 * time.Millisecond)
				})
			})
		}
	}
}

// BenchmarkKeyedMove moves existing keys to later.
func BenchmarkKeyedMove(b *testing.B) {
	const n = 500_000
	for _, pending := range []int{1000, 100_000} {
		for _, procs := range []int{1, 2} {
			b.Run(fmt.Sprintf("pending=%d/procs=%d", pending, procs), func(b *testing.B) {
				ours, theirs := newWheels(b)
				fillWheels(b, ours, theirs, pending)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				parallel(1, n, func(i int) { ours.Move(int64(i%pending), 2*time.Hour) })
				runtime.ReadMemStats(&after)
				versus.Compare(b, versus.Rounds, n, func() {
					parallel(procs, n, func(i int) { ours.Move(int64(i%pending), 2*time.Hour) })
				}, func() {
					parallel(procs, n, func(i int) { theirs.MoveTimer(int64(i%pending), 2*time.Hour) })
				})
				b.ReportMetric(float64((after.Mallocs-before.Mallocs)*100/n)/100, "hwt-allocs")
			})
		}
	}
}

// BenchmarkKeyedHeap reports the heap that one of a million pending keys holds.
func BenchmarkKeyedHeap(b *testing.B) {
	const n = 1_000_000
	value := new(int)
	measure := func(set func(i int64, delay time.Duration)) float64 {
		before := heap()
		for i := range int64(n) {
			set(i, 30*time.Minute+time.Duration(i)*time.Millisecond)
		}
		time.Sleep(time.Second) // transferred
		return float64(heap()-before) / n
	}
	for b.Loop() {
		ours, theirs := newWheels(b)
		b.ReportMetric(measure(func(i int64, delay time.Duration) { ours.Set(i, value, delay) }), "hwt-B/key")
		b.ReportMetric(measure(func(i int64, delay time.Duration) { theirs.SetTimer(i, value, delay) }), "rival-B/key")
		b.ReportMetric(0, "ns/op")
		runtime.KeepAlive(ours)
		runtime.KeepAlive(theirs)
	}
}
