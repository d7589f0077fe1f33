package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func TestEventHasTheLayoutOfATimeout(t *testing.T) {
	type field struct {
		offset, size uintptr
		pointer      bool
	}
	flat := func(of reflect.Type) (fields []field) {
		var add func(of reflect.Type, at uintptr)
		add = func(of reflect.Type, at uintptr) {
			if of.Kind() == reflect.Struct {
				for i := range of.NumField() {
					add(of.Field(i).Type, at+of.Field(i).Offset)
				}
				return
			}
			if of.Size() > 0 {
				pointer := of.Kind() == reflect.Pointer || of.Kind() == reflect.UnsafePointer || of.Kind() == reflect.Interface
				fields = append(fields, field{at, of.Size(), pointer})
			}
		}
		add(of, 0)
		return fields
	}
	assert.Equal(t, flat(reflect.TypeFor[Timeout]()), flat(reflect.TypeFor[hwt.Event]()))
	assert.EqualValues(t, 8, unsafe.Alignof(hwt.Event{}), "64-bit atomics need it on 32-bit machines")
}

// eventTask is an event and its task.
type eventTask struct {
	hwt.Event

	ran  atomic.Int64
	then func()
}

func (e *eventTask) Run(timeout hwt.Timeout) error {
	if timeout != &e.Event {
		return fmt.Errorf("the task received %T", timeout)
	}
	e.ran.Add(1)
	if e.then != nil {
		e.then()
	}
	return nil
}

// Cancelled is not called (E6).
func (e *eventTask) Cancelled(hwt.Timeout) { e.ran.Add(1000) }

// InitEvent implements hwt.EventTimer.
func (e *timer) InitEvent(event *hwt.Event, task hwt.TimerTask) error {
	return InitEvent(&e.Handle, event, task)
}

// event returns an event of e that is not armed.
func (e *timer) event(t *testing.T) *eventTask {
	t.Helper()
	ev := new(eventTask)
	require.NoError(t, ev.Init(e, ev))
	return ev
}

func TestEventIsDrainedOnceBetweenTwoTicks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		ev := e.event(t)
		s := e.core.intake.of(eventOf(&ev.Event))
		for range 100 {
			require.NoError(t, ev.Arm(time.Hour))
			require.True(t, ev.Cancel())
		}
		assert.EqualValues(t, 1, s.backlog())
		require.NoError(t, ev.Arm(time.Hour))
		e.finish(t)
		assert.Len(t, e.wheel.added, 1)
		assert.Equal(t, 1, e.wheel.adds)
		for range 100 { // now that it is in the wheel
			require.True(t, ev.Cancel())
			require.NoError(t, ev.Arm(time.Hour))
		}
		assert.EqualValues(t, 1, s.backlog())
		require.True(t, ev.Cancel())
		e.finish(t)
		assert.Empty(t, e.wheel.added, "the worker takes a cancelled event out of its bucket")
		assert.EqualValues(t, 201, e.balanced(t).Cancelled)
	})
}

// The event is drained once at each tick, so its lives are the traffic.
func TestWorkerTicksWhileAnEventIsInUse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		ev := e.event(t)
		use := func() {
			for range 100 {
				require.NoError(t, ev.Arm(time.Hour))
				require.True(t, ev.Cancel())
			}
		}
		use()
		synctest.Wait()
		for range 20 {
			use()
			pass(tick)
			require.Equal(t, ticking, e.core.intake.phase.Load())
		}
		pass(2 * tick) // without traffic
		assert.Equal(t, asleep, e.core.intake.phase.Load())
	})
}

func TestLivesOfEventsArriveOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		e.core.schedule.noteSleep(0)
		once, often := e.event(t), e.event(t)
		require.NoError(t, once.Arm(time.Hour))
		for range 10 {
			require.NoError(t, often.Arm(time.Hour))
			require.True(t, often.Cancel())
		}
		e.core.drainAll()
		assert.EqualValues(t, 11, e.core.schedule.draining.arrivals)
	})
}

func TestArmToLaterPushesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		ev := e.event(t)
		require.NoError(t, ev.Arm(time.Minute))
		e.finish(t)
		e.core.intake.phase.Store(ticking) // so that no caller drains
		s := e.core.intake.of(eventOf(&ev.Event))
		require.NoError(t, ev.Arm(time.Hour))
		assert.Zero(t, s.backlog())
		require.NoError(t, ev.Arm(time.Second))
		assert.EqualValues(t, 1, s.backlog())
		assert.EqualValues(t, 1, e.balanced(t).Accepted)
	})
}

// The test takes the worker's steps, so that the event is drained while its task runs (E5).
func TestEventArmedByItsTaskGoesBackToTheWheel(t *testing.T) {
	for _, drained := range []bool{false, true} {
		t.Run(fmt.Sprintf("drained while it runs %v", drained), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				e := newIdleTimer(t)
				ev := e.event(t)
				ev.then = func() {
					if ev.ran.Load() < 10 {
						require.NoError(t, ev.Arm(5*tick))
					}
					if drained {
						e.core.drainAll()
					}
				}
				require.NoError(t, ev.Arm(0))
				for range 100 {
					time.Sleep(tick)
					e.finish(t)
				}
				assert.EqualValues(t, 10, ev.ran.Load())
				assert.Empty(t, e.wheel.added)
				s := e.balanced(t)
				assert.EqualValues(t, 10, s.Expired)
				require.NoError(t, ev.Arm(time.Hour), "it can be armed after its last run")
				e.finish(t)
				assert.Len(t, e.wheel.added, 1)
			})
		})
	}
}

// The task of a timeout cancels an event of the same tick, so that no event of due fires (E5).
func TestEventCancelledInDueIsArmedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		ev := e.event(t)
		_, err := e.AfterFunc(tick, func() { assert.True(t, ev.Cancel()) })
		require.NoError(t, err)
		require.NoError(t, ev.Arm(tick))
		pass(3 * tick)
		require.Zero(t, ev.ran.Load())
		require.NoError(t, ev.Arm(tick))
		pass(3 * tick)
		assert.EqualValues(t, 1, ev.ran.Load())
		assert.Zero(t, e.Pending())
	})
}

func TestEventCancelledAndArmedInDueRunsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		var events [3]*eventTask
		for i := range events {
			events[i] = e.event(t)
			events[i].then = func() {
				for j, other := range events {
					if j != i && other.ran.Load() == 0 {
						assert.True(t, other.Cancel())
						assert.NoError(t, other.Arm(time.Duration(j+3)*tick))
					}
				}
				assert.False(t, events[i].Cancel(), "it fires")
			}
		}
		for _, ev := range events {
			require.NoError(t, ev.Arm(tick))
		}
		pass(100 * tick)
		for _, ev := range events {
			assert.EqualValues(t, 1, ev.ran.Load())
		}
		s := e.balanced(t)
		assert.EqualValues(t, 3, s.Expired)
		assert.Zero(t, s.Pending)
	})
}

func TestAllYieldsEventsInEveryPlaceOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		const n = 3 * maxWalkBatch
		events := make([]*eventTask, n)
		for i := range events {
			events[i] = e.event(t)
			require.NoError(t, events[i].Arm(time.Hour))
			switch i % 3 {
			case 1: // in the wheel, cancelled
				events[i].Cancel()
			case 2: // armed again
				events[i].Cancel()
				require.NoError(t, events[i].Arm(2*time.Hour))
			}
			if i%100 == 0 {
				pass(tick)
			}
		}
		for round := range 3 {
			seen := map[hwt.Timeout]int{}
			for timeout := range e.All() {
				seen[timeout]++
				if len(seen)%7 == round { // moves while the loop runs
					ev := events[rand.N(n)]
					if ev.Cancel() {
						require.NoError(t, ev.Arm(time.Hour))
					}
				}
			}
			for timeout, times := range seen {
				_, ok := timeout.(*hwt.Event)
				require.True(t, ok)
				require.Equal(t, 1, times)
			}
			for i, ev := range events {
				if i%3 == 1 {
					require.Zero(t, seen[hwt.Timeout(&ev.Event)])
				}
			}
		}
		seen := 0
		for range e.All() { // nothing moves
			seen++
		}
		assert.EqualValues(t, e.Pending(), seen)
	})
}

// A cancelled event leaves due for no place, with its Cancel in a queue. Then it is armed.
func TestAllYieldsAnEventThatWasCancelledInDue(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		ev, first := e.event(t), e.event(t)
		first.then = func() { assert.True(t, ev.Cancel()) }
		require.NoError(t, first.Arm(0))
		require.NoError(t, ev.Arm(0))
		time.Sleep(tick)
		require.Equal(t, goOn, e.step())
		if eventOf(&ev.Event) == timeoutOf(e.core.firing.due[0]) { // another stripe came first
			first.then, ev.then = nil, func() { assert.True(t, first.Cancel()) }
			ev, first = first, ev
		}
		e.core.worker.fire()
		require.EqualValues(t, 1, first.ran.Load())
		require.NoError(t, ev.Arm(time.Hour))
		var seen []hwt.Timeout
		for timeout := range e.All() {
			seen = append(seen, timeout)
		}
		assert.Equal(t, []hwt.Timeout{&ev.Event}, seen)
	})
}

func TestStopReturnsPendingEventsInEveryPlace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		inWheel, inQueue, rearmed, ended, due := e.event(t), e.event(t), e.event(t), e.event(t), e.event(t)
		require.NoError(t, inWheel.Arm(time.Hour))
		require.NoError(t, rearmed.Arm(time.Hour))
		require.NoError(t, ended.Arm(time.Hour))
		require.NoError(t, due.Arm(0))
		time.Sleep(tick)
		require.Equal(t, goOn, e.step())
		require.Len(t, e.core.firing.due, 1)
		require.NoError(t, inQueue.Arm(time.Hour))
		rearmed.Cancel()
		require.NoError(t, rearmed.Arm(time.Hour))
		ended.Cancel()
		unprocessed := e.Stop()
		assert.ElementsMatch(t, []hwt.Timeout{&inWheel.Event, &inQueue.Event, &rearmed.Event, &due.Event}, unprocessed)
		for _, timeout := range unprocessed {
			assert.True(t, timeout.IsCancelled())
			assert.False(t, timeout.Cancel())
			assert.ErrorIs(t, timeout.(*hwt.Event).Arm(0), hwt.ErrStopped)
			assert.True(t, timeout.IsCancelled(), "an Arm that fails changes nothing")
		}
		assert.EqualValues(t, 4, e.balanced(t).Unprocessed)
	})
}

// An Arm has counted its push and changed the word when Stop comes. Other callers rely on
// its push (E3).
func TestStopWaitsForAPushUnderWay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		ev := e.event(t)
		timeout := eventOf(&ev.Event)
		s := e.core.intake.of(timeout)
		s.armed.Add(1)
		s.reset.Add(1)
		require.True(t, timeout.state.compareAndSwap(enginekit.Unarmed, enginekit.PendingWord(5)|queued))
		require.NoError(t, ev.Arm(time.Hour), "overtakes the one under way")
		var unprocessed []hwt.Timeout
		done := make(chan struct{})
		go func() {
			unprocessed = e.Stop()
			close(done)
		}()
		for !e.core.intake.stripes[0].changed.Closed() || e.core.intake.phase.Load() != stopped {
			runtime.Gosched()
		}
		require.False(t, s.changed.Push(timeout))
		e.workers[0].adopt(s, timeout)
		<-done
		assert.Equal(t, []hwt.Timeout{&ev.Event}, unprocessed)
		assert.NoError(t, e.workers[0].armLate(timeout), "Stop returned it")
		e.balanced(t)
	})
}

func TestArmThatStopDoesNotFindFails(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t, func(c *Config) { c.MaxPending = 3 })
		ev := e.event(t)
		timeout, home := eventOf(&ev.Event), &e.workers[0]
		require.Empty(t, e.Stop())
		for range 2 { // two callers that came before Stop, and continue after it
			if !home.move(timeout, int64(time.Hour)) {
				e.core.env.limit.Take(1)
				s := e.core.intake.of(timeout)
				s.armed.Add(1)
				require.True(t, home.change(timeout, enginekit.Unarmed, enginekit.PendingWord(7)|queued, 7))
			}
		}
		assert.ErrorIs(t, home.armLate(timeout), hwt.ErrStopped)
		assert.ErrorIs(t, home.armLate(timeout), hwt.ErrStopped, "the other one has ended it")
		assert.False(t, ev.IsCancelled() || ev.IsExpired())
		assert.Zero(t, e.balanced(t).Accepted)
		assert.Zero(t, e.core.intake.backlog())
	})
}

// The real clock, because Stop, Arm and Cancel meet on several processors.
func TestEachArmEndsOnceBesideStop(t *testing.T) {
	for range enginetest.Effort(300, 100, 100) {
		e := newTimer(t, func(c *Config) { c.Tick = time.Millisecond })
		const n = 4
		events := make([]*eventTask, n)
		for i := range events {
			events[i] = e.event(t)
		}
		var stopAt atomic.Int64
		var arms, cancels atomic.Int64
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for i := 0; ; i++ {
					ev := events[rand.N(n)]
					switch rand.N(3) {
					case 0:
						if ev.Cancel() {
							cancels.Add(1)
						}
					default:
						if err := ev.Arm(rand.N(2 * time.Millisecond)); err != nil {
							assert.ErrorIs(t, err, hwt.ErrStopped)
							return
						}
						arms.Add(1)
					}
					stopAt.Add(1)
				}
			})
		}
		for stopAt.Load() < rand.N(int64(3000)) {
			runtime.Gosched()
		}
		unprocessed := e.Stop()
		wg.Wait()
		seen := map[hwt.Timeout]bool{}
		for _, timeout := range unprocessed {
			require.False(t, seen[timeout], "twice")
			seen[timeout] = true
		}
		s := e.balanced(t)
		require.Zero(t, s.Pending)
		require.Equal(t, cancels.Load(), s.Cancelled)
		require.EqualValues(t, len(unprocessed), s.Unprocessed)
		ran := int64(0)
		for _, ev := range events {
			ran += ev.ran.Load()
		}
		require.Equal(t, ran, s.Expired)
		require.LessOrEqual(t, s.Accepted, arms.Load())
		require.Empty(t, e.errs)
	}
}

func TestEventCountsTowardsThePendingLimit(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t, func(c *Config) { c.MaxPending = 2 })
		a, b, c := e.event(t), e.event(t), e.event(t)
		require.NoError(t, a.Arm(time.Hour))
		require.NoError(t, b.Arm(tick))
		require.NoError(t, b.Arm(tick), "it is pending")
		assert.Equal(t, &hwt.PendingLimitError{Pending: 3, Max: 2}, c.Arm(time.Hour))
		require.True(t, a.Cancel())
		require.NoError(t, c.Arm(time.Hour))
		pass(3 * tick)
		require.NoError(t, a.Arm(time.Hour), "b has fired")
		assert.EqualValues(t, 1, e.balanced(t).Rejected)
		for range 10 * minHeld { // cancelled events are not held
			require.True(t, a.Cancel())
			require.NoError(t, a.Arm(time.Hour))
		}
		assert.Zero(t, e.core.env.limit.Held())
	})
}

func TestEventReportsItsLatestArm(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		ev := e.event(t)
		assert.False(t, ev.IsCancelled() || ev.IsExpired() || ev.Cancel() || ev.Reset(0))
		assert.True(t, ev.Deadline().IsZero())
		assert.Equal(t, "timeout(unarmed, task *engine.eventTask)", ev.String())
		assert.Equal(t, hwt.Timer(e), ev.Timer())
		assert.Equal(t, hwt.TimerTask(ev), ev.Task())
		require.NoError(t, ev.Arm(-time.Hour))
		assert.Equal(t, time.Now(), ev.Deadline())
		pass(tick)
		assert.True(t, ev.IsExpired())
		require.NoError(t, ev.Arm(math.MaxInt64))
		assert.False(t, ev.IsExpired())
		assert.True(t, ev.Deadline().IsZero())
		assert.True(t, ev.Reset(time.Hour))
		assert.Equal(t, "timeout(in 1h0m0s, task *engine.eventTask)", ev.String())
		assert.True(t, ev.Cancel())
		assert.True(t, ev.IsCancelled())
		assert.False(t, ev.Reset(0))
		_, ok := hwt.CallerOf(&ev.Event)
		assert.False(t, ok)
	})
}

// The real clock, because the test waits for the garbage collector.
func TestPendingEventKeepsItsObjectAlive(t *testing.T) {
	e := newTimer(t)
	var freed, ran atomic.Bool
	func() {
		ev := e.event(t)
		ev.then = func() { ran.Store(true) }
		runtime.AddCleanup(ev, func(*atomic.Bool) { freed.Store(true) }, &freed)
		require.NoError(t, ev.Arm(5*tick))
	}()
	runtime.GC()
	runtime.GC()
	require.Eventually(t, ran.Load, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool {
		runtime.GC()
		return freed.Load()
	}, time.Minute, time.Millisecond, "nothing keeps it")
}

func TestEventAllocatesNothingWhenArmed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.Start()
		ev := e.event(t)
		assert.Zero(t, testing.AllocsPerRun(1000, func() {
			_ = ev.Arm(time.Hour)
			ev.Cancel()
		}))
	})
}
