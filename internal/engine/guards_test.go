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

	"github.com/hashedwheel/hwt/internal/task"
	"github.com/hashedwheel/hwt/internal/timertest"
)

// Tests of the ground rules that no user sees broken before it is too late: each
// holds the moment still at which a rule counts, or lets goroutines meet there.

// guardedWheel sees to it that the wheel is used by the holder of mu (W4).
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
func (w guardedWheel) Add(t *Timeout, tick int64)    { w.check(); w.flatWheel.Add(t, tick) }
func (w guardedWheel) Next() int64                   { w.check(); return w.flatWheel.Next() }
func (w guardedWheel) All(yield func(*Timeout) bool) { w.check(); w.flatWheel.All(yield) }

func TestWheelIsUsedUnderTheLockAlone(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.core.wheel = guardedWheel{e.wheel, &e.core.mu}
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

// Between the worker's look at the word and its filing: it must be told again.
func TestResetWhileTheWorkerFilesIsHeard(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		timeout := e.after(t, time.Hour, nothing)
		e.wheel.onAdd = func() {
			e.wheel.onAdd = nil
			assert.True(t, timeout.Reset(0))
		}
		time.Sleep(tick)
		require.True(t, e.core.prepare(e.core.now()))
		time.Sleep(tick)
		require.True(t, e.core.prepare(e.core.now()))
		assert.Equal(t, []*Timeout{timeout}, e.core.due)
		e.core.fire()
	})
}

// The worker says that it sleeps, and a caller rouses it before it has looked at
// the intake once more: the caller's token is the worker's to take (W3).
func TestTokenOfACallerMetOnTheWayToSleepIsTaken(t *testing.T) {
	e := newIdleTimer(t)
	c := e.core
	c.sleeper = time.NewTimer(forever)
	c.quiet, c.nextDue = true, 1<<40
	c.mu.Lock() // the worker comes no further than to its second look
	awake := make(chan bool)
	go func() { awake <- c.sleep() }()
	for c.phase.Load() != asleep {
		runtime.Gosched()
	}
	e.after(t, time.Hour, nothing)
	c.mu.Unlock()
	assert.True(t, <-awake)
	assert.Empty(t, c.wake)
	assert.Equal(t, ticking, c.phase.Load())
}

func TestSecondStopWaitsForTheFirstToTakeAll(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		_, first := e.core.shut() // a Stop that gets no further for now
		require.True(t, first)
		var back atomic.Bool
		go func() {
			e.Stop()
			back.Store(true)
		}()
		synctest.Wait()
		assert.False(t, back.Load())
		e.core.takeAll()
		close(e.core.taken)
		synctest.Wait()
		assert.True(t, back.Load())
	})
}

func TestWorkerTellsTheLastOnlyAfterStopTookAll(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		e.core.shut()
		var back atomic.Bool
		go func() {
			e.core.takeLast()
			back.Store(true)
		}()
		synctest.Wait()
		assert.False(t, back.Load())
		e.core.takeAll()
		close(e.core.taken)
		synctest.Wait()
		assert.True(t, back.Load())
	})
}

// The worker is in a task when Stop comes; what it still reads of due is there.
func TestStopLeavesDueToTheWorkerThatFiresIt(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		e := newTimer(t, watched, func(c *Config) { c.StopWait = 0 })
		e.after(t, tick, func() {
			e.Stop()
			time.Sleep(2 * threshold) // found slow at its end, by its place in due
		})
		pass(5 * threshold)
		assert.EqualValues(t, 1, e.Stats().SlowTasks)
		<-e.core.done
	})
}

// A Reset to later, which the worker meets, and one to a time that has passed.
func TestWhatIsRefiledComesAtTheNextTickAtTheEarliest(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		timeout := e.after(t, tick, nothing)
		e.due(t)
		require.True(t, timeout.Reset(time.Hour))
		e.core.run(timeout)
		require.True(t, timeout.Reset(0))
		e.core.endFiring()
		assert.Equal(t, e.core.tick+1, e.wheel.filed[timeout].tick)
		time.Sleep(tick)
		require.True(t, e.core.prepare(e.core.now()))
		e.core.fire()
		assert.True(t, timeout.IsExpired())
	})
}

func TestTrailingWorkerSettlesSomeAllTheSame(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		for range 2 * popAtLeast {
			e.after(t, time.Hour, nothing)
		}
		time.Sleep(tick)
		e.core.tick = 0 // its time is over already
		e.core.transfer()
		assert.GreaterOrEqual(t, e.wheel.adds, popAtLeast)
	})
}

func TestNewTimeoutsDoNotStarveChangedOnes(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		timeout := e.after(t, time.Hour, nothing)
		time.Sleep(tick)
		require.True(t, e.core.prepare(e.core.now()))
		require.True(t, timeout.Cancel())
		e.core.popped, e.core.overtime = 10*popAtLeast, true // transfer took all of the time
		e.core.settleChanged()
		assert.Empty(t, e.wheel.filed)
	})
}

func TestEveryStripeCounts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	e := newIdleTimer(t)
	in := &e.core.intake
	require.Greater(t, len(in.stripes), 1)
	for i := range in.stripes {
		require.True(t, in.empty())
		s := &in.stripes[i]
		require.True(t, s.added.Push(&Timeout{life: newLife(forever), handle: &e.Handle}))
		assert.False(t, in.empty(), "stripe %d", i)
		require.NotNil(t, s.added.Pop())
		require.True(t, s.changed.Push(&Timeout{life: newLife(forever), handle: &e.Handle}))
		assert.False(t, in.empty(), "stripe %d", i)
		require.NotNil(t, s.changed.Pop())
	}
}

// together runs f on n goroutines, for round after round. They begin each round
// as near to one another as they can.
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

// Real: only cores that run at the same time come between two steps. A second
// worker would close done once more, and a second Stop quit.
func TestFirstCallersStartOneWorkerAndLastOnesStopItOnce(t *testing.T) {
	const n = 2000
	var handles [n]*Handle
	for i := range handles {
		handles[i] = newHandle(t)
	}
	together(2, n, func(_, round int) { handles[round].core.rouse() })
	var firsts atomic.Int64
	together(2, n, func(_, round int) {
		if _, first := handles[round].core.shut(); first {
			firsts.Add(1)
		}
	})
	assert.EqualValues(t, n, firsts.Load())
	for _, h := range handles {
		h.core.takeAll()
		close(h.core.taken)
		<-h.core.done
	}
	runtime.KeepAlive(&handles) // a timer that was collected would have been stopped
}

// newHandle makes a timer that the test has to stop.
func newHandle(t *testing.T) *Handle {
	t.Helper()
	h := new(Handle)
	h.Init(nil, Config{Tick: tick, Wheel: &flatWheel{filed: map[*Timeout]filing{}}, Runner: &task.Runner{
		Logger: slog.New(slog.DiscardHandler),
	}})
	return h
}

// Real: the ends are summed first (S2).
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

// Real: of many ends of one life one wins, whatever Resets come between.
func TestOfRacingEndsOneWins(t *testing.T) {
	const n = 20_000
	var words [n]life
	var wins [n]atomic.Int64
	for i := range words {
		words[i] = newLife(1)
	}
	together(2, n, func(i, round int) {
		w, ok := &words[round], false
		switch (i + round%3) % 3 {
		case 0:
			_, ok = cancel(w)
		case 1:
			_, ok = expire(w, 3)
		case 2:
			_, _ = rearm(w, 2)
			_, ok = cancel(w)
		}
		if ok {
			wins[round].Add(1)
		}
	})
	for round := range n {
		require.EqualValues(t, 1, wins[round].Load())
		require.True(t, ended(words[round]))
	}
}
