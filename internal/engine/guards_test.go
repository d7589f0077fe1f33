package engine

import (
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/engine/store"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// These tests check ground rules whose violation would show late or rarely. Each stops at
// the moment at which a rule matters, or lets goroutines race there.

// guardedWheel checks that only the holder of mu uses the wheel.
type guardedWheel struct {
	*flatWheel
	mu *sync.Mutex
}

func (w guardedWheel) check() {
	free := w.mu.TryLock()
	if free {
		w.mu.Unlock()
	}
	w.fault(!free, "used without mu")
}

func (w guardedWheel) MoveTo(tick int64)             { w.check(); w.flatWheel.MoveTo(tick) }
func (w guardedWheel) Add(n *store.Node, tick int64) { w.check(); w.flatWheel.Add(n, tick) }
func (w guardedWheel) Next() int64                   { w.check(); return w.flatWheel.Next() }
func (w guardedWheel) Held() *store.Buckets          { w.check(); return w.flatWheel.Held() }

func TestWheelIsUsedUnderTheLockOnly(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.core.schedule.wheel = guardedWheel{e.wheel, &e.core.mu}
		ran := 0
		var second atomic.Pointer[Timeout]
		e.after(t, tick, func() { second.Load().Reset(3 * tick) })
		second.Store(e.after(t, tick, func() { ran++ }))
		e.after(t, time.Hour, nothing)
		pass(10 * tick)
		assert.Equal(t, 1, ran)
		assert.Len(t, e.Stop(), 1)
	})
}

// A Reset between the worker's load of the word and its Add must push again.
func TestResetWhileTheWorkerInsertsIsSeen(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		timeout := e.after(t, time.Hour, nothing)
		e.wheel.onAdd = func() {
			e.wheel.onAdd = nil
			assert.True(t, timeout.Reset(0))
		}
		time.Sleep(tick)
		require.Equal(t, goOn, e.step())
		time.Sleep(tick)
		require.Equal(t, goOn, e.step())
		assert.Equal(t, nodes(timeout), e.core.firing.due)
		e.core.worker.fire()
	})
}

// The timeout's link is in a queue. Another push would corrupt the queue.
func TestResetOfAQueuedTimeoutDoesNotPushIt(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one stripe
		e := newIdleTimer(t)
		timeouts := []*Timeout{e.after(t, time.Hour, nothing), e.after(t, time.Hour, nothing), e.after(t, time.Hour, nothing)}
		require.True(t, timeouts[1].Reset(time.Minute))
		e.finish(t)
		for _, timeout := range timeouts {
			assert.Contains(t, e.wheel.added, timeout)
		}
		assert.Zero(t, e.backlog())
	})
}

func TestSecondStopWaitsForTakeAll(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		e.shut() // a Stop that is interrupted here
		var back atomic.Bool
		go func() {
			e.Stop()
			back.Store(true)
		}()
		synctest.Wait()
		assert.False(t, back.Load())
		e.core.takeAll(nil)
		close(e.core.worker.takenOver)
		synctest.Wait()
		assert.True(t, back.Load())
	})
}

func TestLateNoticesAreTakenAfterTakeAll(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		e.shut()
		var back atomic.Bool
		go func() {
			e.core.worker.takeLateNotices()
			back.Store(true)
		}()
		synctest.Wait()
		assert.False(t, back.Load())
		e.core.takeAll(nil)
		close(e.core.worker.takenOver)
		synctest.Wait()
		assert.True(t, back.Load())
	})
}

// The worker runs a task during Stop, and reads due afterwards.
func TestStopLeavesDueToTheWorkerThatFiresIt(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		e := newTimer(t, watched, func(c *Config) { c.StopWait = 0 })
		e.after(t, tick, func() {
			e.Stop()
			time.Sleep(2 * threshold) // the watchdog reads the task from due
		})
		pass(5 * threshold)
		assert.EqualValues(t, 1, e.Stats().SlowTasks)
		<-e.core.worker.done
	})
}

// The worker finds a Reset to later. Then follows one to a time in the past.
func TestReinsertedTimeoutExpiresAtALaterTick(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		timeout := e.after(t, tick, nothing)
		e.due(t)
		require.True(t, timeout.Reset(time.Hour))
		e.core.firing.fire(timeout)
		require.True(t, timeout.Reset(0))
		e.core.worker.endFiring()
		assert.Equal(t, e.core.schedule.tick+1, e.wheel.added[timeout].tick)
		time.Sleep(tick)
		require.Equal(t, goOn, e.step())
		e.core.worker.fire()
		assert.True(t, timeout.IsExpired())
	})
}

func TestNewTimeoutsDoNotStarveChangedOnes(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		timeout := e.after(t, time.Hour, nothing)
		e.finish(t)
		e.core.intake.phase.Store(ticking)
		e.flood(t, 4*popAtLeast) // takes all the time
		require.True(t, timeout.Cancel())
		e.core.schedule.drain(0)
		assert.NotContains(t, e.wheel.added, timeout)
		assert.False(t, e.core.schedule.draining.complete)
	})
}

func TestStatsSumAllStripes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	e := newIdleTimer(t)
	in := &e.core.intake
	require.Greater(t, len(in.stripes), 1)
	for i := range in.stripes {
		require.True(t, in.empty())
		s := &in.stripes[i]
		require.True(t, s.added.Push(&Timeout{state: newState(forever), home: &e.workers[0]}))
		assert.False(t, in.empty(), "stripe %d", i)
		require.NotNil(t, s.added.Pop())
		require.True(t, s.changed.Push(&Timeout{state: newState(forever), home: &e.workers[0]}))
		assert.False(t, in.empty(), "stripe %d", i)
		require.NotNil(t, s.changed.Pop())
	}
}

// together runs f on n goroutines in rounds. The goroutines start each round as
// simultaneously as possible.
func together(n, rounds int, f func(i, round int)) {
	var ready atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for round := range rounds {
				ready.Add(1)
				for spins := 1; ready.Load() < int64(n*(round+1)); spins++ {
					if spins%10_000 == 0 {
						runtime.Gosched()
					}
				}
				f(i, round)
			}
		})
	}
	all.Wait()
}

// Both callers found the timer unstarted, and proceed one after the other.
func TestSecondCallerStartsNoSecondWorker(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.core.wakeWorker()
		e.core.wakeWorker()
		assert.EqualValues(t, 1, e.core.worker.workers.Load())
	})
}

// The real clock, because the race needs processors that run in parallel. A second worker
// would close done again, and a second Stop would close quit again.
func TestRacingCallersStartAndStopOneWorker(t *testing.T) {
	handles := make([]*Handle, enginetest.Effort(2000, 500, 500))
	for i := range handles {
		handles[i] = newHandle(t)
	}
	together(2, len(handles), func(_, round int) { handles[round].Start() })
	for _, h := range handles {
		if w := &h.workers[0].core.worker; w.workers.Load() != 1 { // a relief may have come first
			require.Eventually(t, func() bool { return w.workers.Load() == 1 }, time.Minute, time.Millisecond)
		}
	}
	together(2, len(handles), func(_, round int) { handles[round].Stop() })
	for _, h := range handles {
		<-h.workers[0].core.worker.done
	}
	runtime.KeepAlive(handles) // a collected timer would be stopped
}

// newHandle returns a timer that the test must stop.
func newHandle(t *testing.T) *Handle {
	t.Helper()
	h := new(Handle)
	h.Init(nil, Config{Tick: tick, Workers: 1, NewWheel: newFlatWheel, Runner: &enginekit.Runner{
		Logger: slog.New(slog.DiscardHandler),
	}})
	return h
}

// The real clock, to provoke races. Stats sums the ends first (S2).
func TestPendingIsNeverNegative(t *testing.T) {
	e := newTimer(t)
	var done atomic.Bool
	together(3, 1, func(i, _ int) {
		if i == 0 {
			for range 200_000 {
				if n := e.Pending(); n < 0 {
					assert.Fail(t, "negative", "%d pending", n)
					break
				}
			}
			done.Store(true)
		}
		for i > 0 && !done.Load() {
			e.after(t, time.Hour, nothing).Cancel()
		}
	})
}

// The real clock, to provoke races between ends and Resets of one timeout.
func TestOneOfTheRacingEndsWins(t *testing.T) {
	const n = 20_000
	var words [n]state
	var wins [n]atomic.Int64
	for i := range words {
		words[i] = newState(1)
	}
	together(2, n, func(i, round int) {
		w, ok := &words[round], false
		switch (i + round%3) % 3 {
		case 0:
			_, ok = w.cancel()
		case 1:
			_, ok = w.expire(3)
		case 2:
			_, _ = w.rearm(2)
			_, ok = w.cancel()
		}
		if ok {
			wins[round].Add(1)
		}
	})
	for round := range n {
		require.EqualValues(t, 1, wins[round].Load())
		require.True(t, words[round].load().HasEnded())
	}
}
