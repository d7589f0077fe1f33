package clock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

var errFull = errors.New("full")

// pool is an executor that rejects tasks while it is full.
type pool struct{ full atomic.Bool }

func (p *pool) Execute(task func()) error {
	if p.full.Load() {
		return errFull
	}
	go task()
	return nil
}

// onPools runs f in a bubble on every engine with a pool as its executor.
func onPools(t *testing.T, f func(t *testing.T, timer hwt.Engine, p *pool, refusals *list[error])) {
	for name, newTimer := range map[string]func(hwt.Executor, func(hwt.Timeout, error)) (hwt.Engine, error){
		"hashed": func(p hwt.Executor, handler func(hwt.Timeout, error)) (hwt.Engine, error) {
			return hashedwheel.New(&hashedwheel.Options{TickDuration: tick, Executor: p, ErrorHandler: handler})
		},
		"hierarchical": func(p hwt.Executor, handler func(hwt.Timeout, error)) (hwt.Engine, error) {
			return hierarchical.New(&hierarchical.Options{TickDuration: tick, Executor: p, ErrorHandler: handler})
		},
		"runtime": func(p hwt.Executor, handler func(hwt.Timeout, error)) (hwt.Engine, error) {
			return runtimetimer.New(&runtimetimer.Options{Executor: p, ErrorHandler: handler})
		},
	} {
		t.Run("engine="+name, func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				p := new(pool)
				var refusals list[error]
				timer, err := newTimer(p, func(_ hwt.Timeout, err error) { refusals.add(err) })
				require.NoError(t, err)
				defer timer.Stop()
				f(t, timer, p, &refusals)
			})
		})
	}
}

// The executor rejects all tasks of one unit.
func TestFullExecutorLosesNoTimer(t *testing.T) {
	for _, onTimer := range []bool{false, true} {
		onPools(t, func(t *testing.T, timer hwt.Engine, p *pool, refusals *list[error]) {
			c := newClockWith(t, timer, clock.Options{FuncsOnTimer: onTimer})
			start := time.Now()
			ticker, once := c.NewTicker(unit), c.NewTimer(unit)
			var funcs, runs list[int]
			c.AfterFunc(unit, func() { funcs.add(units(start)) })
			job := newJob(t, c, clock.FixedRate(unit), func() { runs.add(units(start)) })
			ctx, cancel := c.WithTimeout(context.Background(), unit)
			defer cancel()
			done := ctx.Done()

			p.full.Store(true)
			c.Sleep(unit)
			pass(slop)
			p.full.Store(false)
			assert.Equal(t, unit+slop, time.Since(start).Truncate(tick))
			_, fired := received(once.C)
			assert.True(t, fired)
			assert.Equal(t, []int{1}, funcs.take())
			assert.True(t, isDone(done))
			assert.Equal(t, context.DeadlineExceeded, ctx.Err())
			failed := refusals.take()
			assert.Len(t, failed, 6, "each is reported")
			for _, err := range failed {
				assert.ErrorIs(t, err, errFull)
			}

			for i := range 3 {
				at, ok := received(ticker.C)
				assert.True(t, ok)
				assert.Equal(t, unit*time.Duration(1+i), at.Sub(start))
				pass(unit)
			}
			assert.Equal(t, []int{1, 2, 3, 4}, runs.take())
			ticker.Stop()
			job.Stop()
			job.Wait()
			assert.Zero(t, timer.Pending())
			assert.Empty(t, refusals.take())
		})
	}
}
