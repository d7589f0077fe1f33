package clock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
)

// The tests in this file look for races and therefore run on the real clock. Their
// assertions hold for any order of events, and on any machine.

// hammer runs f on several goroutines, on 1, 2 and 4 processors. Half of them use a
// timer that wraps tasks and timeouts.
func hammer(t *testing.T, f func(t *testing.T, c *clock.Clock, timer hwt.Engine, r *rand.Rand)) {
	const goroutines = 8
	for _, procs := range []int{1, 2, 4} {
		t.Run(fmt.Sprint("procs=", procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			timer := newTimer(t)
			clocks := []*clock.Clock{newClock(t, timer), newClock(t, wrapping{timer})}
			var all sync.WaitGroup
			for seed := range goroutines {
				all.Go(func() { f(t, clocks[seed%2], timer, rand.New(rand.NewPCG(uint64(seed), 1))) })
			}
			all.Wait()
			assert.Zero(t, timer.Pending())
		})
	}
}

func rounds() int {
	if testing.Short() {
		return 50
	}
	return 300
}

// TestStopAndAfterFuncAgree asserts that f runs once or Stop returns true.
func TestStopAndAfterFuncAgree(t *testing.T) {
	hammer(t, func(t *testing.T, c *clock.Clock, _ hwt.Engine, r *rand.Rand) {
		for range rounds() {
			var runs atomic.Int32
			ran := make(chan struct{}, 2)
			timer := c.AfterFunc(upTo(r, 3*tick)-tick/2, func() { runs.Add(1); ran <- struct{}{} })
			time.Sleep(upTo(r, 2*tick))
			if !timer.Stop() {
				<-ran
				assert.EqualValues(t, 1, runs.Load())
				continue
			}
			assert.Zero(t, runs.Load())
		}
	})
}

// TestNoStaleValueUnderRaces asserts that a value received after a Reset was due
// after it.
func TestNoStaleValueUnderRaces(t *testing.T) {
	hammer(t, func(t *testing.T, c *clock.Clock, _ hwt.Engine, r *rand.Rand) {
		timer := c.NewTimer(tick)
		ticker := c.NewTicker(tick)
		for range rounds() {
			time.Sleep(upTo(r, 2*tick))
			reset := time.Now()
			d := upTo(r, 2*tick) - tick/2
			timer.Reset(d)
			at := <-timer.C
			assert.GreaterOrEqual(t, at.Sub(reset), max(d, 0))
			reset = time.Now()
			ticker.Reset(tick + time.Duration(r.IntN(3)))
			at = <-ticker.C
			assert.GreaterOrEqual(t, at.Sub(reset), tick)
		}
		timer.Stop()
		ticker.Stop()
		time.Sleep(3 * tick)
		_, stale := received(timer.C)
		assert.False(t, stale)
		_, stale = received(ticker.C)
		assert.False(t, stale)
	})
}

// TestContextsEndOnceUnderRaces races the deadline, cancel, the parent and children.
func TestContextsEndOnceUnderRaces(t *testing.T) {
	hammer(t, func(t *testing.T, c *clock.Clock, _ hwt.Engine, r *rand.Rand) {
		for range rounds() {
			parent, cancelParent := context.WithCancelCause(context.Background())
			ctx, cancel := c.WithTimeoutCause(parent, upTo(r, 2*tick), errOurs)
			var all sync.WaitGroup
			for _, f := range []func(){
				func() { cancelParent(errTheirs) },
				cancel,
				func() {
					child, cancelChild := context.WithCancel(ctx)
					defer cancelChild()
					<-child.Done()
					if child.Err() != ctx.Err() || context.Cause(child) != context.Cause(ctx) {
						assert.Equal(t, ctx.Err(), child.Err())
						assert.Equal(t, context.Cause(ctx), context.Cause(child))
					}
				},
				func() {
					<-ctx.Done()
					err, cause := ctx.Err(), context.Cause(ctx)
					switch err {
					case context.Canceled:
						assert.Contains(t, []error{context.Canceled, errTheirs}, cause)
					case context.DeadlineExceeded:
						assert.Equal(t, errOurs, cause)
					default:
						assert.Fail(t, "ended without an error")
					}
				},
			} {
				delay := upTo(r, 2*tick)
				all.Go(func() {
					time.Sleep(delay)
					f()
				})
			}
			all.Wait()
			cancel()
			require.NotNil(t, ctx.Err())
		}
	})
}

// TestJobsStopUnderRaces asserts that nothing runs after Stop and Wait.
func TestJobsStopUnderRaces(t *testing.T) {
	hammer(t, func(t *testing.T, c *clock.Clock, _ hwt.Engine, r *rand.Rand) {
		for range rounds() / 10 {
			var running atomic.Int32
			var stopped atomic.Bool
			job := newJobWith(t, c, clock.Overlap(r.IntN(3)), clock.FixedRate(tick), func() {
				running.Add(1)
				defer running.Add(-1)
				if stopped.Load() {
					assert.Fail(t, "ran after Wait")
				}
				time.Sleep(time.Duration(rand.Int64N(int64(3 * tick))))
			})
			time.Sleep(upTo(r, 5*tick))
			job.Stop()
			job.Wait()
			stopped.Store(true)
			assert.Zero(t, running.Load())
		}
	})
}
