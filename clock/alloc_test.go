package clock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/clock"
)

// cost is what a call of f allocates.
func cost(f func()) (allocs, bytes int64) {
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f()
		}
	})
	return r.AllocsPerOp(), r.AllocedBytesPerOp()
}

func TestContextsCostNoMoreThanTheStandardLibrarys(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	c := clock.New(newTimer(t))
	base, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, parent := range map[string]context.Context{"background": context.Background(), "cancelable": base} {
		use := func(with withTimeout, cause func(context.Context, time.Duration, error) (context.Context, context.CancelFunc)) (plain, caused func()) {
			return func() {
					_, cancel := with(parent, time.Hour)
					cancel()
				}, func() {
					_, cancel := cause(parent, time.Hour, errOurs)
					cancel()
				}
		}
		ours, oursCaused := use(c.WithTimeout, c.WithTimeoutCause)
		theirs, theirsCaused := use(context.WithTimeout, context.WithTimeoutCause)
		for kind, pair := range map[string][2]func(){"plain": {ours, theirs}, "with a cause": {oursCaused, theirsCaused}} {
			allocs, bytes := cost(pair[0])
			mostAllocs, mostBytes := cost(pair[1])
			assert.LessOrEqual(t, allocs, mostAllocs, "allocations, %s %s", name, kind)
			assert.LessOrEqual(t, bytes, mostBytes+1, "bytes, %s %s", name, kind) // of the timer itself, now and then
			t.Logf("%s %s: %d B in %d allocations, package context %d B in %d", name, kind, bytes, allocs, mostBytes, mostAllocs)
		}
	}
}

func TestAllocations(t *testing.T) {
	c := clock.New(newTimer(t))
	timer := c.AfterFunc(time.Hour, func() {})
	for name, f := range map[string]struct {
		allocs float64
		f      func()
	}{
		"WithTimeout": {3, func() {
			_, cancel := c.WithTimeout(context.Background(), time.Hour)
			cancel()
		}},
		"AfterFunc":   {2, func() { c.AfterFunc(time.Hour, func() {}).Stop() }},
		"NewTimer":    {4, func() { c.NewTimer(time.Hour).Stop() }},
		"Timer.Reset": {0, func() { timer.Reset(2 * time.Hour) }},
	} {
		assert.InDelta(t, f.allocs, testing.AllocsPerRun(1000, f.f), 0.1, name)
	}
	// The first of a flock makes the flock.
	first := c.NewTicker(time.Hour)
	defer first.Stop()
	assert.InDelta(t, 3, testing.AllocsPerRun(1000, func() { c.NewTicker(time.Hour).Stop() }), 0.1, "NewTicker")
}
