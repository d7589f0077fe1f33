package clock_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/versus"
)

// The benchmarks in this file run the clock and the standard library in turn, and
// report the medians of the CPU time of the process, and their ratio. One iteration
// is a whole comparison:
//
//	go test -run '^$' -bench . -benchtime 1x ./clock

func newVersusClock(tb testing.TB) *clock.Clock {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
	require.NoError(tb, err)
	tb.Cleanup(func() { timer.Stop() })
	return newClock(tb, timer)
}

// BenchmarkVersusContext makes and cancels contexts, with no others and with a
// million others live, below a parent that can or cannot be cancelled, and with or
// without a call of Done.
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
			time.Sleep(20 * time.Millisecond) // includes the share of the worker
		}
	}
	defer fill(live, c.WithTimeout)()
	defer fill(live, context.WithTimeout)()
	time.Sleep(time.Second)
	versus.Compare(b, versus.Rounds, n, use(c.WithTimeout), use(context.WithTimeout))
}

// fill makes n contexts with deadlines in half an hour to an hour and a half, and
// returns a function that cancels them.
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
