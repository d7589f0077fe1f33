package hwttest_test

import (
	"fmt"
	"log/slog"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// This file creates engines with options from the whole range of their types. Either New
// returns an error that names the field, the value, and the allowed range, or the engine
// works.

// numbers are values for Options.
type numbers struct {
	tick, slow, stop time.Duration
	size, workers    int
	limit            int64
}

func (n numbers) String() string {
	return fmt.Sprintf("tick %d, size %d, workers %d, limit %d, slow task %d, stop timeout %d", n.tick, n.size, n.workers, n.limit, n.slow, n.stop)
}

// makers create each engine with n.
var makers = map[string]func(n numbers) (hwt.Engine, error){
	"hashedwheel": func(n numbers) (hwt.Engine, error) {
		return some(hashedwheel.New(&hashedwheel.Options{
			TickDuration:       n.tick,
			TicksPerWheel:      n.size,
			Workers:            n.workers,
			MaxPendingTimeouts: n.limit,
			SlowTaskThreshold:  n.slow,
			StopTimeout:        n.stop,
			Logger:             slog.New(slog.DiscardHandler),
		}))
	},
	"hierarchical": func(n numbers) (hwt.Engine, error) {
		return some(hierarchical.New(&hierarchical.Options{
			TickDuration:       n.tick,
			TicksPerWheel:      n.size,
			Workers:            n.workers,
			MaxPendingTimeouts: n.limit,
			SlowTaskThreshold:  n.slow,
			StopTimeout:        n.stop,
			Logger:             slog.New(slog.DiscardHandler),
		}))
	},
	"runtimetimer": func(n numbers) (hwt.Engine, error) {
		return some(runtimetimer.New(&runtimetimer.Options{MaxPendingTimeouts: n.limit, StopTimeout: n.stop}))
	},
}

// some returns a nil interface for a nil engine.
func some[E hwt.Engine](e E, err error) (hwt.Engine, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}

// affordable is the largest number of buckets that a test uses.
const affordable = 1 << 12

// works creates an engine with n, and uses it unless New rejected n.
func works(t *testing.T, name string, n numbers, delay time.Duration) {
	e, err := makers[name](n)
	if err != nil {
		assert.Nil(t, e)
		assert.Regexp(t, fmt.Sprintf(`^%s: Options\.(TickDuration: %s|TicksPerWheel: %d|Workers: %d|MaxPendingTimeouts: %d) \(expected: .+\)$`,
			name, n.tick, n.size, n.workers, n.limit), err.Error(), n.String())
		return
	}
	if n.size > affordable {
		assert.Empty(t, e.Stop())
		return
	}
	begin, ran := time.Now(), time.Duration(-1)
	timeout, err := e.AfterFunc(delay, func() { ran = time.Since(begin) })
	require.NoError(t, err, "%s: %v", name, n)
	const wait = time.Minute
	time.Sleep(wait)
	synctest.Wait()
	tick := max(n.tick, time.Millisecond)
	switch {
	case ran >= 0:
		assert.GreaterOrEqual(t, ran, delay, "%s: early: %v", name, n)
		assert.True(t, timeout.IsExpired())
		assert.Empty(t, e.Stop())
	case name == "runtimetimer" || tick < wait/4:
		assert.Greater(t, delay, wait/2, "%s: late: %v", name, n)
		fallthrough
	default:
		assert.Len(t, e.Stop(), 1, "%s: lost: %v", name, n)
	}
	s := e.Stats()
	assert.Equal(t, s.Accepted, s.Expired+s.Unprocessed, "%s: %v", name, n)
}

func FuzzAnyValueIsRejectedOrWorks(f *testing.F) {
	good := []int64{int64(time.Millisecond), 64, 0, 0, 0, 0, int64(time.Second)}
	for i := range good {
		for _, v := range []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt32, -1, 0, 1, 2, 3, 1 << 20, 1 << 30, math.MaxInt32, 1<<31 + 1, math.MaxInt64 - 1, math.MaxInt64} {
			n := append([]int64(nil), good...)
			n[i] = v
			f.Add(n[0], n[1], n[2], n[3], n[4], n[5], n[6])
		}
	}
	f.Fuzz(func(t *testing.T, tick, size, workers, limit, slow, stop, delay int64) {
		n := numbers{time.Duration(tick), time.Duration(slow), time.Duration(stop), int(size), int(workers), limit}
		for name := range makers {
			enginetest.Bubble(t, func(t *testing.T) { works(t, name, n, time.Duration(delay)) })
		}
	})
}
