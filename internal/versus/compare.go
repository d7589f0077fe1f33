package versus

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cli"
)

const million = 1_000_000

// Rounds is the number of measurements per side in comparisons with long rounds.
const Rounds = 5

// Factory makes the engine of a benchmark. The benchmark stops it.
type Factory func(tb testing.TB) hwt.Engine

func (newTimer Factory) start(tb testing.TB) hwt.Engine {
	timer := newTimer(tb)
	tb.Cleanup(func() { timer.Stop() })
	return timer
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

var nop = hwt.TaskFunc(func(hwt.Timeout) error { return nil })

// CPU returns the process's CPU time per operation, in nanoseconds, while f does n
// operations. It skips the benchmark if the system does not report that time.
func CPU(tb testing.TB, n int, f func()) float64 {
	runtime.GC()
	before, ok := cli.CPUTime()
	if !ok {
		tb.Skip("the CPU time of the process is not known on this system")
	}
	f()
	after, _ := cli.CPUTime()
	return float64(after-before) / float64(n)
}

// Median sorts v and returns its middle value.
func Median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// Compare measures ours and theirs, n operations each, in alternating rounds and
// reports the medians.
func Compare(b *testing.B, rounds, n int, ours, theirs func()) {
	b.Helper()
	for b.Loop() {
		var a, t []float64
		for range rounds {
			a = append(a, CPU(b, n, ours))
			t = append(t, CPU(b, n, theirs))
		}
		Report(b, a, t)
	}
}

// Report reports the median CPU times of ours and theirs, and the ratio.
func Report(b *testing.B, ours, theirs []float64) {
	a, t := Median(ours), Median(theirs)
	b.ReportMetric(a, "hwt-cpu-ns")
	b.ReportMetric(t, "rival-cpu-ns")
	b.ReportMetric(a/t, "cpu-ratio")
	b.ReportMetric(0, "ns/op")
}

// spread returns n delays from least to least+span.
func spread(n int, least, span time.Duration) []time.Duration {
	r := rand.New(rand.NewPCG(1, 2))
	delays := make([]time.Duration, n)
	for i := range delays {
		delays[i] = least + time.Duration(r.Int64N(int64(span)))
	}
	return delays
}

// far returns n delays between 30 and 90 minutes.
func far(n int) []time.Duration { return spread(n, 30*time.Minute, time.Hour) }

// fill schedules timeouts with the timer and with the runtime.
func fill(tb testing.TB, timer hwt.Engine, delays []time.Duration) (stop func()) {
	fillTimer(tb, timer, delays)
	return fillRuntime(delays)
}

func fillTimer(tb testing.TB, timer hwt.Engine, delays []time.Duration) {
	for _, d := range delays {
		_, err := timer.NewTimeout(nop, d)
		must(tb, err)
	}
	time.Sleep(time.Second) // the worker drains the intake
}

// fillRuntime schedules timers with the runtime, which stop stops.
func fillRuntime(delays []time.Duration) (stop func()) {
	timers := make([]*time.Timer, len(delays))
	for i, d := range delays {
		timers[i] = time.AfterFunc(d, func() {})
	}
	return func() {
		for _, t := range timers {
			t.Stop()
		}
		time.Sleep(time.Second) // the runtime removes stopped timers later
	}
}
