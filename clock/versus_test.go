package clock_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/cputime"
)

// The benchmarks in this file put the clock and the standard library side by
// side, in turn, and report the medians of the process's CPU time and their
// ratio. One iteration is a whole comparison:
//
//	go test -run '^$' -bench . -benchtime 1x ./clock

const versusRounds = 5

func newVersusClock(tb testing.TB) *clock.Clock {
	timer, err := hashedwheel.New(hashedwheel.WithTickDuration(10 * time.Millisecond))
	require.NoError(tb, err)
	tb.Cleanup(func() { timer.Stop() })
	return clock.New(timer)
}

// cpu returns the process CPU time in nanoseconds that f takes for each of n.
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

func report(b *testing.B, ours, theirs []float64) {
	a, t := median(ours), median(theirs)
	b.ReportMetric(a, "clock-cpu-ns")
	b.ReportMetric(t, "std-cpu-ns")
	b.ReportMetric(a/t, "cpu-ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkVersusContext makes and cancels contexts, with nothing else pending
// and with a million live ones, under a parent that cannot be cancelled and one
// that can, as of a request; and waits for them, as most do, or not.
func BenchmarkVersusContext(b *testing.B) {
	base, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, v := range []struct {
		name   string
		live   int
		parent context.Context
		wait   bool
	}{
		{"live=0", 0, context.Background(), false},
		{"live=1e6", 1_000_000, context.Background(), false},
		{"live=0/parent=cancelable", 0, base, false},
		{"live=1e6/parent=cancelable", 1_000_000, base, false},
		{"live=0/parent=cancelable/done", 0, base, true},
		{"live=1e6/parent=cancelable/done", 1_000_000, base, true},
	} {
		b.Run(v.name, func(b *testing.B) { versusContext(b, v.live, v.parent, v.wait) })
	}
}

// withTimeout is a function of package context or a method of a clock.
type withTimeout = func(context.Context, time.Duration) (context.Context, context.CancelFunc)

func versusContext(b *testing.B, live int, parent context.Context, wait bool) {
	const n = 500_000
	c := newVersusClock(b)
	use := func(with withTimeout) func() {
		return func() {
			for range n {
				ctx, cancel := with(parent, time.Minute)
				if wait {
					ctx.Done()
				}
				cancel()
			}
			time.Sleep(20 * time.Millisecond) // the worker's share counts too
		}
	}
	defer fill(live, c.WithTimeout)()
	defer fill(live, context.WithTimeout)()
	time.Sleep(time.Second)
	for b.Loop() {
		var ours, theirs []float64
		for range versusRounds {
			ours = append(ours, cpu(b, n, use(c.WithTimeout)))
			theirs = append(theirs, cpu(b, n, use(context.WithTimeout)))
		}
		report(b, ours, theirs)
	}
}

// fill makes n contexts of half an hour to an hour and a half, and returns how to
// cancel them.
func fill(n int, with withTimeout) func() {
	cancels := make([]context.CancelFunc, n)
	for i := range cancels {
		_, cancels[i] = with(context.Background(), 30*time.Minute+rand.N(time.Hour))
	}
	return func() {
		for _, cancel := range cancels {
			cancel()
		}
	}
}
