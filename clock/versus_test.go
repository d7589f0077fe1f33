package clock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// BenchmarkVersusTicker reads tickers of 100 ms, made over one period so that
// their phases are spread, each by a goroutine of its own. It tells the CPU time
// of a tick that was received, and which share was: 100,000 of them keep two
// processors busy for most of the time, and who falls behind drops ticks. The
// floor is that of bareSends.
func BenchmarkVersusTicker(b *testing.B) {
	for _, n := range []int{30_000, 100_000} {
		b.Run(fmt.Sprintf("tickers=%d", n), func(b *testing.B) { versusTicker(b, n) })
	}
}

func versusTicker(b *testing.B, n int) {
	c := newVersusClock(b)
	for b.Loop() {
		var ours, theirs, floors, our, their []float64
		for range versusRounds {
			each, _ := tickers(b, n, new(bareSends).make)
			floors = append(floors, each)
			each, share := tickers(b, n, func(d time.Duration) (<-chan time.Time, func()) {
				t := c.NewTicker(d)
				return t.C, t.Stop
			})
			ours, our = append(ours, each), append(our, share)
			each, share = tickers(b, n, func(d time.Duration) (<-chan time.Time, func()) {
				t := time.NewTicker(d)
				return t.C, t.Stop
			})
			theirs, their = append(theirs, each), append(their, share)
		}
		report(b, ours, theirs)
		b.ReportMetric(median(floors)/median(theirs), "floor-ratio")
		b.ReportMetric(median(our), "clock-received-%")
		b.ReportMetric(median(their), "std-received-%")
	}
}

// bareSends is what a ticker cannot do without: a goroutine that sends to each
// channel once a period, and keeps no time of any of them.
type bareSends struct {
	mu   sync.Mutex
	all  []chan time.Time // Guarded by mu.
	open int              // Guarded by mu.
}

func (s *bareSends) make(period time.Duration) (<-chan time.Time, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan time.Time, 1)
	if s.all = append(s.all, c); len(s.all) == 1 {
		go s.send(period)
	}
	s.open++
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
	}
}

func (s *bareSends) send(period time.Duration) {
	const turns, batch = 10, 128 // as with a tick of 10 ms, and as a flock does
	begin := time.Now()
	for i := 0; ; i++ {
		time.Sleep(time.Until(begin.Add(period / turns * time.Duration(i))))
		s.mu.Lock()
		all, open := s.all, s.open
		s.mu.Unlock()
		if open == 0 {
			return
		}
		turn := i % turns
		for j, c := range all[len(all)*turn/turns : len(all)*(turn+1)/turns] {
			select {
			case c <- begin:
			default:
			}
			if j%batch == batch-1 {
				runtime.Gosched()
			}
		}
	}
}

// tickers returns the CPU time of a tick that was received, and how many of those
// due were, in percent.
func tickers(b *testing.B, n int, make func(time.Duration) (<-chan time.Time, func())) (each, share float64) {
	const (
		period = 100 * time.Millisecond
		span   = 3 * time.Second
	)
	var all sync.WaitGroup
	var ticks atomic.Int64
	var enough atomic.Bool
	begin := time.Now()
	for i := range n {
		if i%1000 == 0 {
			time.Sleep(time.Until(begin.Add(period * time.Duration(i) / time.Duration(n))))
		}
		all.Go(func() {
			ticker, stop := make(period)
			defer stop()
			for !enough.Load() {
				<-ticker
				ticks.Add(1)
			}
		})
	}
	time.Sleep(2 * period)
	var came, periods float64
	total := cpu(b, 1, func() {
		before, since := ticks.Load(), time.Now()
		time.Sleep(span)
		came, periods = float64(ticks.Load()-before), float64(time.Since(since))/float64(period)
	})
	enough.Store(true)
	all.Wait()
	return total / came, 100 * came / (float64(n) * periods)
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
