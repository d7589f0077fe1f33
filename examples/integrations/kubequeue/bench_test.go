//go:build unix

package kubequeue_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/hashedwheel/hwt/examples/integrations/kubequeue"
	"github.com/hashedwheel/hwt/hashedwheel"
)

type delaying = workqueue.TypedDelayingInterface[string]

// contenders are the queues that the benchmarks compare. Ours is the first.
var contenders = [2]func() (q delaying, stop func()){
	func() (delaying, func()) {
		timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
		must(err)
		q, err := kubequeue.New(timer, workqueue.NewTyped[string]())
		must(err)
		return q, func() {
			q.ShutDown()
			timer.Stop()
		}
	},
	func() (delaying, func()) {
		q := workqueue.NewTypedDelayingQueue[string]()
		return q, q.ShutDown
	},
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// cpu returns the CPU time of the process.
func cpu() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// keysOf returns n keys of the form that controllers use.
func keysOf(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("namespace-%d/object-%d", i%100, i)
	}
	return keys
}

// awaitAccepted waits until q has accepted all items, by adding one that is soon due.
func awaitAccepted(q delaying) {
	q.AddAfter("last", time.Millisecond)
	item, _ := q.Get()
	q.Done(item)
}

// rounds is the number of rounds of a comparison. Both queues take part in each.
const rounds = 5

// compare reports the medians of measure for both queues, and their ratio.
func compare(b *testing.B, unit string, measure func(q delaying) float64) {
	for range b.N {
		var results [2][]float64
		for range rounds {
			for i, contender := range contenders {
				runtime.GC()
				q, stop := contender()
				results[i] = append(results[i], measure(q))
				stop()
			}
		}
		for i := range results {
			slices.Sort(results[i])
		}
		ours, theirs := results[0][rounds/2], results[1][rounds/2]
		b.ReportMetric(ours, "ours-"+unit)
		b.ReportMetric(theirs, "client-go-"+unit)
		b.ReportMetric(ours/theirs, "ratio")
		b.ReportMetric(0, "ns/op")
	}
}

// BenchmarkAddAfter measures the CPU time per AddAfter, including the time that the
// goroutine of the queue or timer takes. Each key gets a delay of one to two hours;
// if there are few keys, they get several.
func BenchmarkAddAfter(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		keys := keysOf(n)
		adds := max(n, 200_000)
		for _, goroutines := range []int{1, 8} {
			b.Run(fmt.Sprintf("keys=%d/goroutines=%d", n, goroutines), func(b *testing.B) {
				compare(b, "ns", func(q delaying) float64 {
					start := cpu()
					var all sync.WaitGroup
					for g := range goroutines {
						all.Go(func() {
							for i := g; i < adds; i += goroutines {
								q.AddAfter(keys[i%n], time.Hour+rand.N(time.Hour))
							}
						})
					}
					all.Wait()
					awaitAccepted(q)
					return float64(cpu()-start) / float64(adds)
				})
			})
		}
	}
}

// BenchmarkHeap measures the heap per pending key, without the key's text. The maps of
// both queues grow in steps, at different numbers of keys.
func BenchmarkHeap(b *testing.B) {
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for _, n := range []int{1_000, 100_000, 1_000_000, 1_400_000, 1_700_000, 1_900_000} {
		keys := keysOf(n)
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			compare(b, "B/key", func(q delaying) float64 {
				before := heap()
				for _, key := range keys {
					q.AddAfter(key, time.Hour+rand.N(time.Hour))
				}
				awaitAccepted(q)
				return (heap() - before) / float64(n)
			})
			runtime.KeepAlive(keys)
		})
	}
}

// BenchmarkDue measures the CPU time per key when 100,000 keys are due in the same
// second: AddAfter, the expiry, Get and Done.
func BenchmarkDue(b *testing.B) {
	const n = 100_000
	keys := keysOf(n)
	compare(b, "ns", func(q delaying) float64 {
		start := cpu()
		for _, key := range keys {
			q.AddAfter(key, time.Second+rand.N(time.Second))
		}
		for range n {
			item, _ := q.Get()
			q.Done(item)
		}
		return float64(cpu()-start) / n
	})
}
