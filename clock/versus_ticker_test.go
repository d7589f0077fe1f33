package clock_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/versus"
)

// many are the numbers of tickers that are measured. 100,000 keep two processors
// busy for most of the time, so that some ticks are dropped.
var many = []int{30_000, 100_000}

// makers are functions that make a ticker of a period, and return its channel and a
// function that stops it.
var makers = []struct {
	of  string
	new func(*testing.B) func(time.Duration) (<-chan time.Time, func())
}{
	{"clock", func(b *testing.B) func(time.Duration) (<-chan time.Time, func()) {
		c := newVersusClock(b)
		return func(d time.Duration) (<-chan time.Time, func()) {
			t := c.NewTicker(d)
			return t.C, t.Stop
		}
	}},
	{"std", func(*testing.B) func(time.Duration) (<-chan time.Time, func()) {
		return func(d time.Duration) (<-chan time.Time, func()) {
			t := time.NewTicker(d)
			return t.C, t.Stop
		}
	}},
	{"floor", func(*testing.B) func(time.Duration) (<-chan time.Time, func()) { return new(bareSends).make }},
}

// BenchmarkTicker reads tickers of 100 ms, made over one period so that their
// phases are spread. Each has a goroutine. It reports the CPU time of a
// received tick, and the share of ticks that were received.
func BenchmarkTicker(b *testing.B) {
	for _, maker := range makers {
		for _, n := range many {
			b.Run(fmt.Sprintf("of=%s/tickers=%d", maker.of, n), func(b *testing.B) {
				for b.Loop() {
					each, share := readTickers(b, n, maker.new(b))
					b.ReportMetric(each, "cpu-ns")
					b.ReportMetric(share, "received-%")
				}
			})
		}
	}
}

// BenchmarkVersusTicker compares them. Each is measured in new processes,
// because 100,000 goroutines that end leave memory scattered for those that follow.
func BenchmarkVersusTicker(b *testing.B) {
	for _, n := range many {
		b.Run(fmt.Sprintf("tickers=%d", n), func(b *testing.B) {
			each, share := map[string][]float64{}, map[string][]float64{}
			for b.Loop() {
				for range versus.Rounds {
					for _, maker := range makers {
						out := benchmarkAlone(b, fmt.Sprintf("BenchmarkTicker/of=%s/tickers=%d", maker.of, n))
						each[maker.of] = append(each[maker.of], metric(b, out, "cpu-ns"))
						share[maker.of] = append(share[maker.of], metric(b, out, "received-%"))
					}
				}
			}
			versus.Report(b, each["clock"], each["std"])
			b.ReportMetric(versus.Median(each["floor"])/versus.Median(each["std"]), "floor-ratio")
			b.ReportMetric(versus.Median(share["clock"]), "clock-received-%")
			b.ReportMetric(versus.Median(share["std"]), "std-received-%")
		})
	}
}

// benchmarkAlone runs a benchmark of this package in a new process.
func benchmarkAlone(b *testing.B, name string) string {
	levels := strings.Split(name, "/")
	for i := range levels {
		levels[i] = "^" + regexp.QuoteMeta(levels[i]) + "$"
	}
	out, err := exec.Command(os.Args[0], "-test.run=^$", "-test.benchtime=1x", "-test.bench="+strings.Join(levels, "/")).CombinedOutput()
	require.NoError(b, err, "%s", out)
	return string(out)
}

// metric returns the result of a benchmark in a unit.
func metric(b *testing.B, out, unit string) float64 {
	fields := strings.Fields(out)
	for i := range fields {
		if i > 0 && fields[i] == unit {
			v, err := strconv.ParseFloat(fields[i-1], 64)
			require.NoError(b, err)
			return v
		}
	}
	require.Fail(b, "not reported", "%s in:\n%s", unit, out)
	return 0
}

// bareSends is the least that tickers need: a goroutine that sends to each channel
// once a period, without any timers.
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
	const turns, batch = 10, 128 // as with a tick of 10 ms, and as in a tickerGroup
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

// readTickers returns the CPU time of a received tick, and which percentage of the
// ticks that were due were received.
func readTickers(b *testing.B, n int, make func(time.Duration) (<-chan time.Time, func())) (each, share float64) {
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
	total := versus.CPU(b, 1, func() {
		before, since := ticks.Load(), time.Now()
		time.Sleep(span)
		came, periods = float64(ticks.Load()-before), float64(time.Since(since))/float64(period)
	})
	enough.Store(true)
	all.Wait()
	return total / came, 100 * came / (float64(n) * periods)
}
