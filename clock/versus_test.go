package clock_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
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

// BenchmarkVersusTicker reads 100,000 tickers of 100 ms, made over one period so
// that their phases are spread, each by a goroutine of its own; per tick.
func BenchmarkVersusTicker(b *testing.B) {
	c := newVersusClock(b)
	for b.Loop() {
		var ours, theirs []float64
		for range versusRounds {
			ours = append(ours, tickers(b, func(d time.Duration) (<-chan time.Time, func()) {
				t := c.NewTicker(d)
				return t.C, t.Stop
			}))
			theirs = append(theirs, tickers(b, func(d time.Duration) (<-chan time.Time, func()) {
				t := time.NewTicker(d)
				return t.C, t.Stop
			}))
		}
		report(b, ours, theirs)
	}
}

// tickers returns the CPU time of a tick that is due, and checks that most of
// them came.
func tickers(b *testing.B, make func(time.Duration) (<-chan time.Time, func())) float64 {
	const (
		n      = 100_000
		period = 100 * time.Millisecond
		span   = 3 * time.Second
	)
	var all sync.WaitGroup
	var ticks atomic.Int64
	done := [n]chan struct{}{}
	stops := [n]func(){}
	begin := time.Now()
	for i := range n {
		if i%1000 == 0 {
			time.Sleep(time.Until(begin.Add(period * time.Duration(i) / n)))
		}
		ticker, stop := make(period)
		done[i], stops[i] = chanOf(), stop
		all.Go(func() {
			for {
				select {
				case <-ticker:
					ticks.Add(1)
				case <-done[i]:
					return
				}
			}
		})
	}
	time.Sleep(2 * period)
	before := ticks.Load()
	each := cpu(b, n*int(span/period), func() { time.Sleep(span) })
	came := ticks.Load() - before
	if came < n*int64(span/period)*9/10 {
		b.Logf("the machine was too busy: only %d ticks", came)
	}
	for i := range n {
		stops[i]()
		close(done[i])
	}
	all.Wait()
	return each
}

func chanOf() chan struct{} { return make(chan struct{}) }

var _ = context.Background
