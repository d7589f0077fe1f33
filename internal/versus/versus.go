// Package versus puts an engine and Go's own timers side by side in one run,
// round by round in turn, and reports the medians of the whole process's CPU
// time and their ratio. One iteration is a whole comparison:
//
//	go test -run '^$' -bench Versus -benchtime 1x ./hashedwheel
//
// An engine's benchmarks call the functions here and nothing else.
package versus

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cputime"
)

const (
	rounds  = 5
	million = 1_000_000
)

// Engine is what the benchmarks need of a timer.
type Engine interface {
	hwt.Timer
	AfterFunc(delay time.Duration, f func()) (hwt.Timeout, error)
	Start()
	Stats() hwt.Stats
}

// Factory makes the engine of a benchmark, which stops it.
type Factory func(tb testing.TB) Engine

func (newTimer Factory) start(tb testing.TB) Engine {
	timer := newTimer(tb)
	tb.Cleanup(func() { timer.Stop() })
	return timer
}

var nop = hwt.TaskFunc(func(hwt.Timeout) error { return nil })

// cpu returns the process CPU time that f takes for each of n operations.
func cpu(tb testing.TB, n int, f func()) float64 {
	runtime.GC()
	before, ok := cputime.Process()
	if !ok {
		tb.Skip("this system's CPU accounting is not read")
	}
	f()
	after, _ := cputime.Process()
	return float64(after-before) / float64(n)
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// compare measures ours and theirs in turn and reports the medians.
func compare(b *testing.B, n int, ours, theirs func()) {
	for b.Loop() {
		var a, t []float64
		for range rounds {
			a = append(a, cpu(b, n, ours))
			t = append(t, cpu(b, n, theirs))
		}
		report(b, a, t)
	}
}

func report(b *testing.B, ours, theirs []float64) {
	a, t := median(ours), median(theirs)
	b.ReportMetric(a, "hwt-cpu-ns")
	b.ReportMetric(t, "runtime-cpu-ns")
	b.ReportMetric(a/t, "cpu-ratio")
	b.ReportMetric(0, "ns/op")
}

// spread returns n delays from least up to span more.
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

// fill puts timeouts into the timer and into the runtime's heap.
func fill(tb testing.TB, timer Engine, delays []time.Duration) (stop func()) {
	fillTimer(tb, timer, delays)
	return fillRuntime(delays)
}

func fillTimer(tb testing.TB, timer Engine, delays []time.Duration) {
	for _, d := range delays {
		_, err := timer.NewTimeout(nop, d)
		require.NoError(tb, err)
	}
	time.Sleep(time.Second) // transferred
}

// fillRuntime returns how to take out again what it put in.
func fillRuntime(delays []time.Duration) (stop func()) {
	timers := make([]*time.Timer, len(delays))
	for i, d := range delays {
		timers[i] = time.AfterFunc(d, func() {})
	}
	return func() {
		for _, t := range timers {
			t.Stop()
		}
		time.Sleep(time.Second) // Stop only marks them; the heap is cleared when it is next looked at
	}
}
