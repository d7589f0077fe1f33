package engine

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNoWorkerBeforeTheFirstTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		pass(time.Hour)
		assert.Equal(t, unstarted, e.core.phase.Load())
		assert.Zero(t, e.core.workerID.Load())
		e.after(t, time.Second, nothing)
		assert.Equal(t, ticking, e.core.phase.Load())
		synctest.Wait()
		assert.NotZero(t, e.core.workerID.Load())
	})
}

func TestWorkerParksWhenNothingIsPending(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, tick, nothing)
		pass(4 * tick)
		assert.Equal(t, asleep, e.core.phase.Load())
		before := e.Stats()
		pass(1000 * time.Hour)
		assert.Equal(t, before, e.Stats())
	})
}

func TestWorkerDozesToTheWheelsNextTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		var at []time.Duration
		for _, ticks := range []time.Duration{100, 5000, 5001} {
			e.after(t, ticks*tick, func() { at = append(at, time.Duration(e.core.now())) })
		}
		pass(6000 * tick)
		assert.Equal(t, []time.Duration{100 * tick, 5000 * tick, 5001 * tick}, at)
		// One wake-up to see the new ones, one to see that there are no more, and
		// one for each tick at which something is due.
		assert.Equal(t, []int64{1, 2, 100, 5000, 5001}, e.wheel.moves)
		assert.EqualValues(t, 5, e.Stats().WakeUps)
	})
}

func TestPushRousesADozingWorkerToTheNextTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, time.Hour, nothing)
		for range 100 {
			pass(5*tick + rand.N(100*tick))
			require.Equal(t, asleep, e.core.phase.Load())
			begin := e.core.now()
			delay := 1 + rand.N(3*tick)
			var ran int64
			e.after(t, delay, func() { ran = e.core.now() })
			require.Equal(t, ticking, e.core.phase.Load(), "roused")
			pass(5 * tick)
			deadline := begin + int64(delay)
			require.Equal(t, (deadline+int64(tick)-1)/int64(tick)*int64(tick), ran)
		}
		assert.EqualValues(t, 1, e.Pending())
	})
}

func TestWorkerStaysAwakeForATickAfterTraffic(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, time.Hour, nothing)
		for range 20 { // traffic at every tick: the worker never sleeps for long
			pass(tick)
			assert.Equal(t, ticking, e.core.phase.Load())
			e.after(t, time.Hour, nothing)
		}
		pass(tick) // it settles the last one
		assert.Equal(t, ticking, e.core.phase.Load())
		pass(tick) // and sees that there was nothing more
		assert.Equal(t, asleep, e.core.phase.Load())
		assert.EqualValues(t, 22, e.Stats().Ticks)
	})
}

// The worker sleeps until a tick. A caller rouses it just when that has come: it
// must not sleep a tick longer.
func TestAlarmAndRouseAtTheSameInstantCostNoTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		c := e.core
		c.sleeper = time.NewTimer(forever)
		for range 50 { // select takes either
			due := c.now()/c.tickDur + 5
			c.phase.Store(asleep)
			time.Sleep(time.Duration(due*c.tickDur - c.now()))
			c.rouse()
			now := c.now()
			require.True(t, c.doze(due))
			require.Equal(t, now, c.now(), "slept on")
			require.Equal(t, ticking, c.phase.Load())
			require.Empty(t, c.wake)
		}
	})
}

// The worker is roused in one tick, but the system runs it in a later one.
func TestRousedWorkerThatRunsLateDoesNotWaitForAnotherTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		c := e.core
		c.sleeper = time.NewTimer(forever)
		c.phase.Store(asleep)
		c.rouse()
		time.Sleep(3*tick + 1)
		now := c.now()
		require.True(t, c.doze(1<<40))
		assert.Equal(t, now, c.now())
	})
}

// The push comes after the tick that saw an empty intake, and before the worker
// says that it sleeps: so the caller rouses nobody.
func TestPushJustBeforeTheWorkerFallsAsleepIsSeen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		c := e.core
		c.sleeper = time.NewTimer(forever)
		time.Sleep(tick)
		require.True(t, c.prepare(c.now()))
		require.True(t, c.quiet)
		e.after(t, time.Hour, nothing)
		require.Empty(t, c.wake)
		require.True(t, c.sleep())
		assert.EqualValues(t, 2*tick, c.now(), "no later than the next tick")
		assert.Equal(t, ticking, c.phase.Load())
	})
}

func TestRousesThatRaceWithGoingToSleepAreNeverLost(t *testing.T) {
	e := newTimer(t, func(c *Config) { c.Tick = 100 * time.Microsecond })
	fired := make(chan struct{})
	for range 300 { // Real time: only then can the worker be anywhere.
		e.after(t, rand.N(300*time.Microsecond), func() { fired <- struct{}{} })
		select {
		case <-fired:
		case <-time.After(10 * time.Second):
			require.Fail(t, "nobody woke the worker")
		}
		time.Sleep(rand.N(300 * time.Microsecond))
	}
}

func TestTransferCapLeavesTheRestToTheNextTicks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		const n = 2*TransferCap + TransferCap/2
		for i := range n {
			e.after(t, time.Hour, nothing)
			if i%4 == 0 {
				e.after(t, time.Hour, nothing).Cancel() // does not count
			}
		}
		for i, want := range []int{TransferCap, 2 * TransferCap, n, n} {
			pass(tick)
			e.core.mu.Lock()
			assert.Len(t, e.wheel.filed, want, "after %d ticks", i+1)
			e.core.mu.Unlock()
		}
		assert.EqualValues(t, 2, e.Stats().LeftOver)
		assert.EqualValues(t, n, e.Pending())
	})
}

func TestExactlyTheTransferCapLeavesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		for range TransferCap {
			e.after(t, time.Hour, nothing)
		}
		pass(tick)
		assert.Zero(t, e.Stats().LeftOver)
	})
}

// Callers who push as fast as the worker pops get a tick's time, not all of it.
func TestDrainingEndsWithItsTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		for range 16 * popAtLeast {
			e.after(t, time.Hour, nothing)
		}
		time.Sleep(tick)
		pop := func() {
			e.core.mu.Lock()
			defer e.core.mu.Unlock()
			e.core.quiet = true
			e.core.transfer()
		}
		e.core.tick = 0 // as if the tick had taken so long that the next one has come
		pop()
		assert.LessOrEqual(t, e.core.popped, popAtLeast+1024*(len(e.core.intake.stripes)+1))
		assert.EqualValues(t, 1, e.Stats().LeftOver)
		assert.False(t, e.core.intake.empty())
		assert.False(t, e.core.quiet)
		e.core.tick = 1
		pop()
		assert.True(t, e.core.intake.empty(), "there is time")
	})
}

// What takes long at one tick is paid for by the next ones, or a worker that
// trails would do nothing but drain.
func TestDrainingTakesHalfOfTheTimeAtMost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		prepare := func() (drained int) {
			e.after(t, time.Hour, nothing)
			before := e.wheel.adds
			require.True(t, e.core.prepare(e.core.now()))
			return e.wheel.adds - before
		}
		time.Sleep(tick)
		e.wheel.onAdd = func() { time.Sleep(tick + tick/2) } // until 2.5
		assert.Equal(t, 1, prepare())
		e.wheel.onAdd = nil
		time.Sleep(tick/2 - 1)
		for range 2 { // just before ticks 3 and 4
			e.core.quiet = true
			assert.Zero(t, prepare(), "at %v", time.Duration(e.core.now()))
			assert.False(t, e.core.quiet, "there may be traffic")
			time.Sleep(tick)
		}
		assert.Equal(t, 3, prepare(), "after tick 4")
	})
}

// The process is stopped, or the machine sleeps, in the middle of draining.
func TestAPauseWhileDrainingHoldsUpNothingAfterIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.wheel.onAdd = func() {
			e.wheel.onAdd = nil
			time.Sleep(time.Hour)
		}
		e.after(t, 2*time.Hour, nothing)
		time.Sleep(tick + time.Hour)
		cancelled := e.after(t, time.Hour, nothing)
		synctest.Wait()
		cancelled.Cancel()
		late := time.Duration(-1)
		deadline := time.Duration(e.core.now()) + tick
		e.after(t, tick, func() { late = time.Duration(e.core.now()) - deadline })
		pass(3*tick + maxRest)
		assert.GreaterOrEqual(t, late, time.Duration(0), "it ran")
		assert.LessOrEqual(t, late, tick+maxRest)
		assert.True(t, e.core.intakeEmpty(), "what was cancelled does not linger")
	})
}

func TestEveryStripeComesFirstInItsTurn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	e := newIdleTimer(t)
	c := e.core
	first := map[int]bool{}
	for round := range len(c.intake.stripes) {
		from := map[*Timeout]int{}
		for i := range c.intake.stripes {
			timeout := &Timeout{life: newLife(forever), handle: &e.Handle}
			from[timeout] = i
			require.True(t, c.intake.stripes[i].added.Push(timeout))
		}
		c.tick = 1<<30 + int64(round)*64 // the number of the tick says nothing, and its time is never over
		c.totals.ticks.Add(1)
		before := e.wheel.adds
		c.transfer()
		for timeout, i := range from {
			if e.wheel.filed[timeout].turn == before+1 {
				first[i] = true
			}
		}
		clear(e.wheel.filed)
	}
	assert.Len(t, first, len(c.intake.stripes))
}

func TestWorkerCatchesUpInOrderAfterALag(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		var order []int
		e.after(t, tick, func() { time.Sleep(3000*tick + tick/2) })
		for i := range 2000 {
			at := (i*7919)%2000 + 2 // in no order
			e.after(t, time.Duration(at)*tick, func() { order = append(order, at) })
		}
		var onTime int64
		e.after(t, 3005*tick, func() { onTime = e.core.now() })
		pass(3010 * tick)
		require.Len(t, order, 2000)
		for i, at := range order {
			require.Equal(t, i+2, at)
		}
		assert.EqualValues(t, 3005*tick, onTime, "the lag is made up for")
		assert.Equal(t, 2999*tick+tick/2, e.Stats().MaxLag)
	})
}

func TestLagOfManyEmptyTicksIsPassedOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, tick, func() { time.Sleep(1_000_000 * tick) })
		e.after(t, 500_000*tick, nothing)
		e.after(t, 2_000_000*tick, nothing)
		pass(1_000_010 * tick)
		assert.Less(t, e.Stats().Ticks, int64(10))
		assert.EqualValues(t, 1, e.Pending())
	})
}

func TestGoexitOfATaskGoesOnBehindIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		var order []int
		for i := range 100 {
			e.after(t, tick, func() {
				order = append(order, i)
				if i%10 == 9 {
					runtime.Goexit()
				}
			})
		}
		tellers := make([]*teller, 10)
		for i := range tellers {
			tellers[i] = &teller{then: runtime.Goexit}
			e.add(t, tellers[i], time.Hour).Cancel()
		}
		pass(2 * tick)
		slices.Sort(order) // for they may have come by two stripes
		require.Len(t, order, 100)
		for i := range order {
			require.Equal(t, i, order[i], "each once")
		}
		for _, c := range tellers {
			assert.Equal(t, [2]int{0, 1}, c.counts())
		}
		assert.Len(t, e.errs, 20)
		assert.EqualValues(t, 100, e.balanced(t).Expired)
		e.after(t, tick, func() { order = nil })
		pass(3 * tick)
		assert.Empty(t, order, "the new worker works")
	})
}

func TestTimeoutResetWhileDueIsFiledAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		var timeouts [3]*Timeout
		var ran []int64
		known := make(chan struct{})
		for i := range timeouts { // due in one tick, in whichever order
			timeouts[i] = e.after(t, tick, func() {
				<-known
				if ran = append(ran, e.core.now()); len(ran) > 1 {
					return
				}
				later, sooner := timeouts[(i+1)%3], timeouts[(i+2)%3]
				assert.True(t, later.Reset(5*tick))
				assert.True(t, sooner.Reset(50*tick))
				assert.True(t, sooner.Reset(3*tick))
			})
		}
		close(known)
		pass(100 * tick)
		assert.Equal(t, []int64{int64(tick), int64(4 * tick), int64(6 * tick)}, ran)
	})
}

func TestResetToSoonerMovesTheTimeoutAtTheNextTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		var ran []int64
		timeout := e.after(t, 100*tick, func() { ran = append(ran, e.core.now()) })
		pass(5 * tick)
		timeout.Reset(50 * tick)
		pass(tick)
		e.core.mu.Lock()
		assert.Equal(t, map[*Timeout]filing{timeout: {55, 2}}, e.wheel.filed)
		e.core.mu.Unlock()
		pass(200 * tick)
		assert.Equal(t, []int64{int64(55 * tick)}, ran)
	})
}

func TestResetToLaterTouchesTheWheelOnlyWhenTheOldTimeComes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		timeout := e.after(t, 100*tick, nothing)
		pass(2 * tick)
		for range 50 {
			timeout.Reset(100 * tick)
			pass(tick)
		}
		adds := func() int {
			e.core.mu.Lock()
			defer e.core.mu.Unlock()
			return e.wheel.adds
		}
		assert.Equal(t, 1, adds())
		pass(60 * tick)
		assert.Equal(t, 2, adds())
		pass(100 * tick)
		assert.Zero(t, e.Pending())
	})
}

func TestWhatWasFiredIsForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		for range maxKept + 1 {
			e.after(t, tick, nothing)
		}
		pass(3 * tick)
		assert.Nil(t, e.core.due, "too much room to keep")
		for range 10 {
			e.after(t, tick, nothing)
			e.add(t, new(teller), time.Hour).Cancel()
		}
		pass(3 * tick)
		assert.Empty(t, e.core.due)
		for _, list := range [][]*Timeout{e.core.due, e.core.told} {
			for _, timeout := range list[:cap(list)] {
				assert.Nil(t, timeout)
			}
		}
		assert.Zero(t, e.core.batch)
	})
}
