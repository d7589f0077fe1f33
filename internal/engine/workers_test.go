package engine

import (
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// enough is a number of timeouts of which each worker gets at least one.
const enough = 200

// newWorkers returns a timer with n workers.
func newWorkers(t *testing.T, n int, change ...func(*Config)) *Handle {
	t.Helper()
	h := new(Handle)
	cfg := Config{Tick: tick, StopWait: 5 * time.Second, Workers: n, NewWheel: newFlatWheel, Runner: &enginekit.Runner{
		Logger: slog.New(slog.DiscardHandler),
	}}
	for _, f := range change {
		f(&cfg)
	}
	h.Init(nil, cfg)
	return h
}

// afterOn schedules f on the worker with the number i.
func afterOn(t *testing.T, h *Handle, i int, delay time.Duration, f func()) {
	t.Helper()
	for {
		begun := new(atomic.Bool)
		timeout, err := h.AfterFunc(delay, func() {
			if begun.Load() {
				f()
			}
		})
		require.NoError(t, err)
		if timeout.(*Timeout).home == &h.workers[i] {
			begun.Store(true)
			return
		}
	}
}

func TestTimeoutsAreSpreadOverTheWorkers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newWorkers(t, 7)
		for range 10 * enough {
			_, err := h.AfterFunc(time.Hour, nothing)
			require.NoError(t, err)
		}
		assert.EqualValues(t, 10*enough, h.Pending())
		for i := range h.workers {
			assert.Greater(t, h.workers[i:i+1].pending(), int64(enough), i)
		}
		pass(2 * time.Hour)
		s := h.Stats()
		assert.EqualValues(t, 10*enough, s.Expired)
		assert.Zero(t, s.Pending)
		assert.Empty(t, h.Stop())
	})
}

func TestStartStartsAllWorkers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newWorkers(t, 3)
		h.Start()
		for i := range h.workers {
			assert.NotEqual(t, unstarted, h.workers[i].core.intake.phase.Load())
		}
		h.Stop()
	})
}

func TestStopReturnsTheTimeoutsOfAllWorkers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newWorkers(t, 3)
		want := map[hwt.Timeout]bool{}
		for i := range enough {
			if i == enough/2 {
				pass(tick) // half are in the wheels, half in the intakes
			}
			timeout, err := h.AfterFunc(time.Hour, nothing)
			require.NoError(t, err)
			want[timeout] = true
		}
		unprocessed := h.Stop()
		assert.Len(t, unprocessed, enough)
		for _, timeout := range unprocessed {
			assert.True(t, want[timeout])
			delete(want, timeout)
		}
		assert.EqualValues(t, enough, h.Stats().Unprocessed)
		assert.Empty(t, h.Stop())
	})
}

// Otherwise they would wait for each other until the stop timeout.
func TestStopInTasksOfTwoWorkersDoesNotWait(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newWorkers(t, 2)
		begin := time.Now()
		var ends atomic.Int64
		for i := range 2 {
			afterOn(t, h, i, tick, func() {
				time.Sleep(tick) // until the other is in its task
				h.Stop()
				ends.Add(1)
			})
		}
		pass(2 * tick)
		assert.EqualValues(t, 2, ends.Load())
		assert.Equal(t, begin.Add(2*tick), time.Now())
	})
}

func TestStopWaitsOnceForAllWorkers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newWorkers(t, 3)
		block := make(chan struct{})
		for i := range 3 {
			afterOn(t, h, i, tick, func() { <-block })
		}
		pass(tick)
		begin := time.Now()
		h.Stop()
		assert.Equal(t, 5*time.Second, time.Since(begin))
		close(block)
	})
}

func TestLimitSpansAllWorkers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newWorkers(t, 3, func(c *Config) { c.MaxPending = enough })
		var last hwt.Timeout
		for range enough {
			timeout, err := h.AfterFunc(time.Hour, nothing)
			require.NoError(t, err)
			last = timeout
		}
		_, err := h.AfterFunc(time.Hour, nothing)
		assert.Equal(t, &hwt.PendingLimitError{Pending: enough + 1, Max: enough}, err)
		require.True(t, last.Cancel())
		_, err = h.AfterFunc(time.Hour, nothing)
		assert.NoError(t, err)
		assert.EqualValues(t, 1, h.Stats().Rejected)
		h.Stop()
	})
}

// The bound applies to the cancelled timeouts of all workers together.
func TestBoundOfCancelledTimeoutsSpansAllWorkers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newWorkers(t, 3, func(c *Config) { c.MaxPending = 1 })
		for range 10 * minHeld {
			timeout, err := h.AfterFunc(time.Hour, nothing)
			require.NoError(t, err)
			require.True(t, timeout.Cancel())
			require.LessOrEqual(t, h.workers.env().limit.Held(), int64(minHeld))
		}
		h.Stop()
	})
}

// A Stop in progress has closed one queue.
func TestAfterARejectionAllWorkersReject(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newWorkers(t, 3)
		h.workers[1].core.intake.stripes[0].added.Close()
		var err error
		for err == nil {
			_, err = h.AfterFunc(time.Hour, nothing)
		}
		assert.ErrorIs(t, err, hwt.ErrStopped)
		for range enough {
			_, err = h.AfterFunc(time.Hour, nothing)
			require.ErrorIs(t, err, hwt.ErrStopped)
		}
		h.Stop()
	})
}

// The real clock, because it waits for the garbage collector.
func TestAllWorkersOfADroppedTimerEnd(t *testing.T) {
	var ends []chan struct{}
	func() {
		h := newWorkers(t, 3)
		h.Start()
		for i := range h.workers {
			ends = append(ends, h.workers[i].core.worker.done)
		}
	}()
	require.Eventually(t, func() bool {
		runtime.GC()
		for _, done := range ends {
			select {
			case <-done:
			default:
				return false
			}
		}
		return true
	}, time.Minute, time.Millisecond)
}

func TestWorkersOfOneTimerRunTasksConcurrently(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newWorkers(t, 2)
		block := make(chan struct{})
		var ran atomic.Bool
		afterOn(t, h, 0, tick, func() { <-block })
		afterOn(t, h, 1, tick, func() { ran.Store(true) })
		pass(tick)
		assert.True(t, ran.Load())
		synctest.Wait()
		close(block)
		h.Stop()
	})
}
