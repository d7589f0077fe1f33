package hierarchical

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine"
	"github.com/hashedwheel/hwt/internal/engine/store"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// The tests in this file act on a timeout during a cascade. They repeat the cascade once
// per step of the worker, and act at that step from another goroutine while the worker
// waits.

const cascadeTick = 10 * time.Millisecond

// stepped is a wheel that calls step before and after each operation.
type stepped struct {
	*wheel
	step func()
}

func (s *stepped) Add(t *store.Node, tick int64) {
	s.step()
	s.wheel.Add(t, tick)
	s.step()
}

func (s *stepped) Remove(t *store.Node) {
	s.step()
	s.wheel.Remove(t)
	s.step()
}

func (s *stepped) Expire(due []*store.Node) []*store.Node {
	s.step()
	due = s.wheel.Expire(due)
	s.step()
	return due
}

// cascade is a timer with a small wheel. A target and two other timeouts pass through four
// levels together, and through one crowded bucket.
type cascade struct {
	timer  *Timer
	start  time.Time
	target hwt.Timeout
	runs   atomic.Int64
	ran    time.Duration // time at which the target ran
	others atomic.Int64  // number of runs of the others
	steps  int
	ready  chan struct{} // closed when all are scheduled; steps wait for it
}

const cascadeDelay = 47*cascadeTick - cascadeTick/2

// newCascade returns a cascade that calls act at a step, on a new goroutine.
func newCascade(t *testing.T, step int, act func(c *cascade)) *cascade {
	options, err := complete(&Options{TickDuration: cascadeTick, TicksPerWheel: 3})
	require.NoError(t, err)
	c := &cascade{timer: &Timer{options: options, levels: new(atomic.Int64)}, start: time.Now(), ready: make(chan struct{})}
	w := newWheel(3, c.timer.levels)
	w.maxBucketLen = 2
	wheel := &stepped{w, func() {
		<-c.ready
		if c.runs.Load() > 0 {
			return // the cascade is over, and the worker retires
		}
		if c.steps++; c.steps == step {
			done := make(chan struct{})
			go func() {
				defer close(done)
				act(c)
			}()
			<-done
		}
	}}
	c.timer.init(func() engine.Wheel { return wheel })
	c.add(t)
	c.target, err = c.timer.AfterFunc(cascadeDelay, func() {
		c.runs.Add(1)
		c.ran = time.Since(c.start)
	})
	require.NoError(t, err)
	c.add(t)
	close(c.ready)
	return c
}

func (c *cascade) add(t *testing.T) {
	_, err := c.timer.AfterFunc(cascadeDelay, func() { c.others.Add(1) })
	require.NoError(t, err)
}

// pass lets all timeouts expire.
func (c *cascade) pass() {
	time.Sleep(200 * cascadeTick)
	synctest.Wait()
}

// atEachStep runs a cascade once per step, acts at that step, and calls check afterwards.
func atEachStep(t *testing.T, act func(c *cascade), check func(t *testing.T, c *cascade)) {
	var steps int
	enginetest.Bubble(t, func(t *testing.T) {
		c := newCascade(t, -1, nil)
		c.pass()
		require.EqualValues(t, 1, c.runs.Load())
		require.EqualValues(t, 2, c.others.Load())
		require.Equal(t, 47*cascadeTick, c.ran)
		require.GreaterOrEqual(t, c.timer.Levels(), 4)
		c.timer.Stop()
		steps = c.steps
	})
	require.GreaterOrEqual(t, steps, 20)
	for step := 1; step <= steps; step++ {
		t.Run(fmt.Sprint("step=", step), func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				c := newCascade(t, step, act)
				c.pass()
				check(t, c)
				c.timer.Stop()
				s := c.timer.Stats()
				assert.Equal(t, s.Accepted, s.Expired+s.Cancelled+s.Unprocessed, "%+v", s)
				assert.Zero(t, s.Pending)
			})
		})
	}
}

func TestCancelInTheMiddleOfACascade(t *testing.T) {
	var cancelled bool
	atEachStep(t, func(c *cascade) { cancelled = c.target.Cancel() }, func(t *testing.T, c *cascade) {
		assert.True(t, cancelled, "the target does not run during the cascade")
		assert.Zero(t, c.runs.Load(), "ran after Cancel")
		assert.EqualValues(t, 2, c.others.Load())
		assert.Empty(t, c.timer.Stop())
	})
}

// TestResetInTheMiddleOfACascade resets the target to several delays, and to its old time.
func TestResetInTheMiddleOfACascade(t *testing.T) {
	for _, delay := range []time.Duration{0, cascadeTick, 5 * cascadeTick, 100 * cascadeTick, -1} {
		t.Run(fmt.Sprint("delay=", delay), func(t *testing.T) {
			var due time.Duration
			atEachStep(t, func(c *cascade) {
				delay := delay
				if delay < 0 {
					delay = cascadeDelay - time.Since(c.start)
				}
				due = time.Since(c.start) + delay
				assert.True(t, c.target.Reset(delay))
			}, func(t *testing.T, c *cascade) {
				assert.EqualValues(t, 1, c.runs.Load())
				assert.GreaterOrEqual(t, c.ran, due, "early")
				assert.LessOrEqual(t, c.ran, due+cascadeTick, "late")
				assert.EqualValues(t, 2, c.others.Load())
			})
		})
	}
}

func TestResetAndCancelInTheMiddleOfACascade(t *testing.T) {
	atEachStep(t, func(c *cascade) {
		c.target.Reset(0)
		c.target.Reset(time.Hour)
		c.target.Cancel()
	}, func(t *testing.T, c *cascade) {
		assert.Zero(t, c.runs.Load())
		assert.True(t, c.target.IsCancelled())
		assert.False(t, c.target.Reset(time.Second))
		assert.EqualValues(t, 2, c.others.Load())
	})
}

// TestStopInTheMiddleOfACascade asserts that Stop returns all three timeouts.
func TestStopInTheMiddleOfACascade(t *testing.T) {
	var unprocessed chan []hwt.Timeout
	var extra int
	atEachStep(t, func(c *cascade) {
		unprocessed, extra = make(chan []hwt.Timeout, 1), 0
		go func() { unprocessed <- c.timer.Stop() }()
		for { // until Stop has begun; it continues when the worker unlocks the wheel
			if _, err := c.timer.AfterFunc(time.Hour, func() {}); err != nil {
				return
			}
			extra++
			runtime.Gosched()
		}
	}, func(t *testing.T, c *cascade) {
		ran := int(c.runs.Load() + c.others.Load())
		assert.Len(t, <-unprocessed, 3+extra-ran)
		assert.Equal(t, c.runs.Load() == 0, c.target.IsCancelled())
		assert.Equal(t, c.runs.Load() == 1, c.target.IsExpired())
	})
}

// TestCancelFromATaskOfTheSameTick lets tasks cancel others of their tick, right after a
// cascade through all levels.
func TestCancelFromATaskOfTheSameTick(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer, err := New(&Options{TickDuration: cascadeTick, TicksPerWheel: 3})
		require.NoError(t, err)
		defer timer.Stop()
		var mu sync.Mutex // held until all are scheduled
		timeouts := make([]hwt.Timeout, 10)
		ran := 0
		mu.Lock()
		for i := range timeouts {
			timeouts[i], err = timer.AfterFunc(cascadeDelay, func() {
				mu.Lock()
				defer mu.Unlock()
				ran++
				for j, other := range timeouts {
					if j != i {
						assert.True(t, other.Cancel())
					}
				}
			})
			require.NoError(t, err)
		}
		mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, 1, ran)
		assert.EqualValues(t, 9, timer.Stats().Cancelled)
	})
}
