//go:build unix

package gozero_test

import (
	"io"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/zeromicro/go-zero/core/collection"
	"github.com/zeromicro/go-zero/core/logx"

	"github.com/hashedwheel/hwt/examples/integrations/gozero"
	"github.com/hashedwheel/hwt/hashedwheel"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// contender creates one side of a comparison. await waits for the goroutine that stores
// timeouts.
type contender[T any] func() (c T, await, stop func())

// wheels are the timing wheels that the benchmarks compare. Ours is the first.
var wheels = [2]contender[wheel]{
	func() (wheel, func(), func()) {
		timer, err := hashedwheel.New(nil)
		must(err)
		w, err := gozero.NewTimingWheel(timer, func(any, any) {})
		must(err)
		return w, func() { await(timer) }, func() {
			w.Stop()
			timer.Stop()
		}
	},
	func() (wheel, func(), func()) {
		w, err := collection.NewTimingWheel(time.Second, 300, func(any, any) {})
		must(err)
		return w, func() {}, w.Stop // Its calls wait for its goroutine.
	},
}

// expiring has the methods of both caches.
type expiring interface {
	Get(key string) (any, bool)
	Set(key string, value any)
}

// caches are the caches that the benchmarks compare. Ours is the first.
var caches = [2]contender[expiring]{
	func() (expiring, func(), func()) {
		timer, err := hashedwheel.New(nil)
		must(err)
		c, err := gozero.NewCache(timer, time.Hour, 0)
		must(err)
		return c, func() { await(timer) }, func() {
			c.Close()
			timer.Stop()
		}
	},
	func() (expiring, func(), func()) {
		c, err := collection.NewCache(time.Hour)
		must(err)
		return c, func() {}, func() {}
	},
}

// await waits until the worker of timer has stored all timeouts, by adding one that is soon
// due.
func await(timer *hashedwheel.Timer) {
	done := make(chan struct{})
	_, err := timer.AfterFunc(time.Millisecond, func() { close(done) })
	must(err)
	<-done
}

// cpu returns the CPU time of the process.
func cpu() float64 {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano() + usage.Stime.Nano())
}

func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// rounds is the number of rounds of a comparison. Both contenders take part in each.
const rounds = 5

// compare reports the medians of measure for both contenders, and their ratio.
func compare[T any](b *testing.B, unit string, contenders [2]contender[T], measure func(c T, await func()) float64) {
	logx.SetWriter(logx.NewWriter(io.Discard))
	for range b.N {
		var results [2][]float64
		for range rounds {
			for i, contender := range contenders {
				c, await, stop := contender()
				results[i] = append(results[i], measure(c, await))
				stop()
			}
		}
		for i := range results {
			slices.Sort(results[i])
		}
		ours, theirs := results[0][rounds/2], results[1][rounds/2]
		b.ReportMetric(ours, "ours-"+unit)
		b.ReportMetric(theirs, "go-zero-"+unit)
		b.ReportMetric(ours/theirs, "ratio")
		b.ReportMetric(0, "ns/op")
	}
}

const keys = 100_000

// BenchmarkSetTimer measures the CPU time per SetTimer of a new key.
func BenchmarkSetTimer(b *testing.B) {
	compare(b, "ns", wheels, func(w wheel, await func()) float64 {
		start := cpu()
		setAll(w)
		await()
		return (cpu() - start) / keys
	})
}

// setAll sets timers for all keys, in an hour.
func setAll(w wheel) {
	for key := range keys {
		must(w.SetTimer(key, nil, time.Hour))
	}
}

// BenchmarkMoveTimer measures the CPU time per MoveTimer among 100,000 keys. A timeout that
// moves to a later time stays where it is until its old deadline, which is not measured.
func BenchmarkMoveTimer(b *testing.B) {
	for _, delay := range []time.Duration{2 * time.Hour, time.Hour / 2} {
		b.Run("to="+delay.String(), func(b *testing.B) {
			compare(b, "ns", wheels, func(w wheel, await func()) float64 {
				setAll(w)
				await()
				start := cpu()
				for key := range keys {
					must(w.MoveTimer(key, delay))
				}
				await()
				return (cpu() - start) / keys
			})
		})
	}
}

// BenchmarkWheelHeap measures the heap per pending key.
func BenchmarkWheelHeap(b *testing.B) {
	compare(b, "B", wheels, func(w wheel, await func()) float64 {
		before := heap()
		setAll(w)
		await()
		return (heap() - before) / keys
	})
}

// entries are the keys of the caches.
var entries = func() (all []string) {
	for i := range keys {
		all = append(all, "user:"+strconv.Itoa(i))
	}
	return all
}()

// setEntries sets all entries.
func setEntries(c expiring) {
	for _, key := range entries {
		c.Set(key, nil)
	}
}

// BenchmarkCacheGet measures the CPU time per Get of a known key.
func BenchmarkCacheGet(b *testing.B) {
	compare(b, "ns", caches, func(c expiring, await func()) float64 {
		setEntries(c)
		await()
		start := cpu()
		for range 10 {
			for _, key := range entries {
				c.Get(key)
			}
		}
		return (cpu() - start) / (10 * keys)
	})
}

// BenchmarkCacheSet measures the CPU time per Set, half of new and half of known keys.
func BenchmarkCacheSet(b *testing.B) {
	compare(b, "ns", caches, func(c expiring, await func()) float64 {
		start := cpu()
		setEntries(c)
		setEntries(c)
		await()
		return (cpu() - start) / (2 * keys)
	})
}

// BenchmarkCacheHeap measures the heap per entry.
func BenchmarkCacheHeap(b *testing.B) {
	compare(b, "B", caches, func(c expiring, await func()) float64 {
		before := heap()
		setEntries(c)
		await()
		return (heap() - before) / keys
	})
}
