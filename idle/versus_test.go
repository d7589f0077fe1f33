package idle_test

import (
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/internal/cli"
)

// The benchmarks in this file measure process CPU time. One iteration is a whole
// comparison:
//
//	go test -run '^$' -bench . -benchtime 1x ./idle

const (
	versusRounds  = 7
	versusWatches = 1_000_000
)

// nothing is a no-op io.Closer.
type nothing struct{}

func (nothing) Close() error { return nil }

// newCoarse returns the timer that the documentation recommends.
func newCoarse(tb testing.TB) hwt.Timer {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Second})
	require.NoError(tb, err)
	tb.Cleanup(func() { timer.Stop() })
	return timer
}

func newReaper(tb testing.TB, timer hwt.Timer, timeout time.Duration, options ...*idle.Options) *idle.Reaper {
	r, err := idle.New(timer, timeout, append(options, nil)[0])
	require.NoError(tb, err)
	tb.Cleanup(func() { r.Close() })
	return r
}

func used(tb testing.TB) time.Duration {
	d, ok := cli.CPUTime()
	if !ok {
		tb.Skip("this system's CPU accounting is not read")
	}
	return d
}

// cpu returns the process CPU time in nanoseconds that f takes for each of n.
func cpu(tb testing.TB, n int, f func()) float64 {
	runtime.GC()
	before := used(tb)
	f()
	return float64(used(tb)-before) / float64(n)
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// BenchmarkVersusTouch compares a touch with SetReadDeadline of a loopback
// connection, in turn.
func BenchmarkVersusTouch(b *testing.B) {
	const n = 1_000_000
	r := newReaper(b, newCoarse(b), time.Hour)
	client, server := tcpPair(b)
	defer client.Close()
	defer server.Close()
	w := r.Watch(nothing{})
	for b.Loop() {
		var ours, theirs []float64
		for range versusRounds {
			ours = append(ours, cpu(b, n, func() {
				for range n {
					w.Touch()
				}
			}))
			theirs = append(theirs, cpu(b, n, func() {
				for range n {
					_ = server.SetReadDeadline(time.Now().Add(time.Hour))
				}
			}))
		}
		b.ReportMetric(median(ours), "touch-cpu-ns")
		b.ReportMetric(median(theirs), "deadline-cpu-ns")
		b.ReportMetric(median(ours)/median(theirs), "cpu-ratio")
		b.ReportMetric(0, "ns/op")
	}
}

// BenchmarkVersusRead reads single bytes from a connection that is always
// readable: bare, wrapped, and with a deadline set for each read.
func BenchmarkVersusRead(b *testing.B) {
	const n = 200_000
	r := newReaper(b, newCoarse(b), time.Hour)
	client, server := tcpPair(b)
	defer client.Close()
	defer server.Close()
	wrapped := r.Wrap(server)
	buffer := make([]byte, 1)
	fill := make([]byte, 20_000) // fits the socket's buffer
	reads := func(read func()) float64 {
		return cpu(b, n, func() {
			for range n / len(fill) {
				_, err := client.Write(fill)
				require.NoError(b, err)
				for range fill {
					read()
				}
			}
		})
	}
	for b.Loop() {
		var bare, ours, theirs []float64
		for range versusRounds {
			bare = append(bare, reads(func() { _, _ = server.Read(buffer) }))
			ours = append(ours, reads(func() { _, _ = wrapped.Read(buffer) }))
			theirs = append(theirs, reads(func() {
				_ = server.SetReadDeadline(time.Now().Add(time.Hour))
				_, _ = server.Read(buffer)
			}))
		}
		b.ReportMetric(median(bare), "bare-cpu-ns")
		b.ReportMetric(median(ours), "wrapped-cpu-ns")
		b.ReportMetric(median(theirs), "deadline-cpu-ns")
		b.ReportMetric(0, "ns/op")
	}
}

// BenchmarkWatches touches a million watches, each once in two seconds, in random
// order, with a timeout of 10 s on a wheel that ticks once a second. It touches only
// in the middle of each second, when the wheel sleeps, and measures the CPU time of
// the rest of it, which the wheel, the reaper and the garbage collector use.
func BenchmarkWatches(b *testing.B) {
	for _, c := range []struct {
		name  string
		churn int
	}{{"memory=fresh", 0}, {"memory=churned", 5}} {
		b.Run(c.name, func(b *testing.B) {
			timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Second})
			require.NoError(b, err)
			defer timer.Stop()
			start := time.Now()
			r := newReaper(b, timer, 10*time.Second)
			watches := newWatches(r, c.churn)
			for b.Loop() {
				const seconds = 20
				touchAtRandom(b, watches, start, 12) // the first deadlines are all the same
				scans := timer.Stats().Expired
				n, touches, rest := touchAtRandom(b, watches, start, seconds)
				b.ReportMetric(float64(n)/seconds/versusWatches, "touches/watch/s")
				b.ReportMetric(float64(touches)/float64(n), "touch-cpu-ns")
				b.ReportMetric(100*float64(rest)/float64(seconds*time.Second), "wheel-%core")
				b.ReportMetric(float64(timer.Stats().Expired-scans)/seconds, "scans/s")
			}
			b.ReportMetric(float64(r.Stats().Idle), "reaped")
			b.ReportMetric(0, "ns/op")
			runtime.KeepAlive(watches)
		})
	}
}

// newWatches makes the watches. It replaces a random half of them churn times, so
// that their memory is in no order.
func newWatches(r *idle.Reaper, churn int) []*idle.Watch {
	watches := make([]*idle.Watch, versusWatches)
	for i := range watches {
		watches[i] = r.Watch(nothing{})
	}
	for range churn {
		for i := range watches {
			if rand.IntN(2) == 0 {
				watches[i].Stop()
				watches[i] = nil
			}
		}
		runtime.GC()
		for i := range watches {
			if watches[i] == nil {
				watches[i] = r.Watch(nothing{})
			}
		}
	}
	runtime.GC()
	return watches
}

// touchAtRandom touches half of the watches, if the machine is fast enough, from
// 0.2 s to 0.8 s after each tick of a timer that was started at start.
func touchAtRandom(b *testing.B, watches []*idle.Watch, start time.Time, seconds int) (n int, touches, rest time.Duration) {
	at := time.Since(start).Truncate(time.Second) + 1200*time.Millisecond
	time.Sleep(at - time.Since(start))
	order := rand.Perm(len(watches))
	for range seconds {
		before := used(b)
		for done := 0; done < len(watches)/2 && (done&1023 != 0 || time.Since(start) < at+600*time.Millisecond); done++ {
			watches[order[n%len(order)]].Touch()
			n++
		}
		touched := used(b)
		at += time.Second
		time.Sleep(at - time.Since(start))
		touches += touched - before
		rest += used(b) - touched
	}
	return n, touches, rest
}

// BenchmarkHeap reports the heap that one of a million watches holds.
func BenchmarkHeap(b *testing.B) {
	b.Run("kind=Watch", func(b *testing.B) {
		benchmarkHeap(b, func(r *idle.Reaper) io.Closer {
			r.Watch(nothing{})
			return nil
		})
	})
	b.Run("kind=Wrap", func(b *testing.B) {
		var c net.Conn = &net.TCPConn{}
		benchmarkHeap(b, func(r *idle.Reaper) io.Closer { return r.Wrap(c) })
	})
}

func benchmarkHeap(b *testing.B, make func(*idle.Reaper) io.Closer) {
	for b.Loop() {
		r := newReaper(b, newCoarse(b), time.Hour)
		before := heap()
		for range versusWatches {
			make(r)
		}
		time.Sleep(2 * time.Second) // transferred
		b.ReportMetric(float64(heap()-before)/versusWatches, "heap-B/watch")
		runtime.KeepAlive(r)
	}
	b.ReportMetric(0, "ns/op")
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// tcpPair returns both ends of a connection on loopback.
func tcpPair(tb testing.TB) (client, server net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	defer l.Close()
	client, err = net.Dial("tcp", l.Addr().String())
	require.NoError(tb, err)
	server, err = l.Accept()
	require.NoError(tb, err)
	return client, server
}
