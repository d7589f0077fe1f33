package hierarchical_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
)

// choices are the engines between which docs/engines.md decides, with a tick of 1 ms.
var choices = []struct {
	name string
	new  func() (hwt.Engine, error)
}{
	{"hierarchical", func() (hwt.Engine, error) { return hierarchical.New(nil) }},
	{"hashedwheel", func() (hwt.Engine, error) {
		return hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond})
	}},
	{"hashedwheel-8192", func() (hwt.Engine, error) {
		return hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond, TicksPerWheel: 8192})
	}},
}

// BenchmarkDelaysUpToDays reports the CPU time of the process per second while four million
// timeouts are pending with delays from an hour to a week, the logarithm of which is
// distributed evenly. Up to a thousand other timeouts per second have delays of 1 to 100 ms, so that
// the worker wakes in almost every tick.
func BenchmarkDelaysUpToDays(b *testing.B) {
	for _, choice := range choices {
		b.Run(choice.name, func(b *testing.B) {
			timer := choose(b, choice.new)
			random := rand.New(rand.NewPCG(1, 2))
			for range 4_000_000 {
				after(b, timer, time.Duration(float64(time.Hour)*math.Exp2(random.Float64()*math.Log2(7*24))))
			}
			time.Sleep(time.Second) // the worker drains the timeouts
			runtime.GC()
			before, begin := cpu(b), time.Now()
			for b.Loop() {
				for range 1000 {
					after(b, timer, time.Millisecond+rand.N(99*time.Millisecond))
					time.Sleep(time.Millisecond)
				}
			}
			b.ReportMetric((cpu(b)-before).Seconds()*1e3/time.Since(begin).Seconds(), "ms-CPU/s")
		})
	}
}

// BenchmarkManySmallTimers reports the heap per timer with ten timeouts.
func BenchmarkManySmallTimers(b *testing.B) {
	const timers = 500
	for _, choice := range choices {
		b.Run(choice.name, func(b *testing.B) {
			for b.Loop() {
				before := heap()
				all := make([]hwt.Engine, timers)
				for i := range all {
					all[i] = choose(b, choice.new)
					for range 10 {
						after(b, all[i], time.Millisecond+rand.N(time.Hour))
					}
				}
				time.Sleep(100 * time.Millisecond) // the workers drain the timeouts
				b.ReportMetric(float64(heap()-before)/timers/1000, "kB/timer")
				runtime.KeepAlive(all)
			}
		})
	}
}

func choose(b *testing.B, new func() (hwt.Engine, error)) hwt.Engine {
	timer, err := new()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { timer.Stop() })
	return timer
}

func after(b *testing.B, timer hwt.Engine, delay time.Duration) {
	if _, err := timer.AfterFunc(delay, func() {}); err != nil {
		b.Fatal(err)
	}
}

// cpu returns the CPU time of the process.
func cpu(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
