package engine

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

func TestTransferCapLimitsTheDrainBeforeATick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		due := e.after(t, tick, nothing)
		time.Sleep(tick - 1)
		require.Equal(t, sleep, e.finish(t))
		e.core.intake.phase.Store(ticking)
		e.flood(t, 3*transferCap)
		time.Sleep(time.Nanosecond)
		require.Equal(t, goOn, e.step())
		assert.Len(t, e.wheel.added, transferCap)
		assert.Equal(t, nodes(due), e.core.firing.due)
	})
}

// The worker drains the rest before the next tick.
func TestRoundsDrainTheRestWithinTheTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.Start()
		synctest.Wait()
		e.core.intake.phase.Store(ticking) // as during traffic
		const n = 2*transferCap + transferCap/2
		e.flood(t, n)
		e.core.worker.sleeper.Load().wake()
		synctest.Wait()
		e.core.mu.Lock()
		assert.Len(t, e.wheel.added, n)
		e.core.mu.Unlock()
		pass(2 * tick)
		assert.Zero(t, e.Stats().DeferredTicks)
	})
}

// An expired bucket is processed again only a rotation later.
func TestRoundAddsNoTimeoutToAnExpiredTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		time.Sleep(tick)
		require.Equal(t, goOn, e.step())
		late := &Timeout{state: newState(int64(tick)), home: &e.workers[0], task: hwt.TaskFunc(nil)}
		e.core.intake.of(late).added.Push(late)
		e.finish(t)
		assert.EqualValues(t, 2, e.wheel.added[late].tick)
	})
}

// Callers that push as fast as the worker drains must not keep it from ticking.
func TestDrainingEndsWithItsTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		e.flood(t, 16*popAtLeast)
		time.Sleep(tick)
		c := e.core
		c.mu.Lock()
		c.schedule.drain(0) // the time is over
		assert.LessOrEqual(t, e.wheel.adds, popAtLeast+1024+batchLen)
		assert.GreaterOrEqual(t, e.wheel.adds, popAtLeast)
		assert.False(t, c.schedule.draining.complete)
		c.schedule.drain(never)
		assert.True(t, c.schedule.draining.complete)
		assert.Len(t, e.wheel.added, 16*popAtLeast)
		c.mu.Unlock()
	})
}

func TestTickWithAnIncompleteDrainIsCounted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		e.flood(t, 2*transferCap)
		time.Sleep(tick)
		require.Equal(t, goOn, e.step())
		time.Sleep(tick) // leaves the rounds no time
		require.Equal(t, goOn, e.step())
		assert.EqualValues(t, 1, e.Stats().DeferredTicks)
		time.Sleep(tick)
		require.Equal(t, goOn, e.step())
		assert.EqualValues(t, 1, e.Stats().DeferredTicks)
	})
}

// While the worker lags, it drains for at most half of the time.
func TestLaggingWorkerDrainsHalfOfTheTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		for i := range time.Duration(20) {
			e.after(t, i*tick, nothing)
		}
		e.finish(t)
		e.core.intake.phase.Store(ticking)
		e.core.worker.sleeper.Load().stop() // it would wait for mu
		time.Sleep(10 * tick)
		prepare := func() (drained int) {
			e.after(t, time.Hour, nothing)
			before := e.wheel.adds
			require.Equal(t, goOn, e.step())
			e.core.worker.fire()
			return e.wheel.adds - before
		}
		e.wheel.onAdd = func() { time.Sleep(tick + tick/2) } // until 11.5
		assert.Equal(t, 1, prepare())
		e.wheel.onAdd = nil
		assert.Zero(t, prepare())
		time.Sleep(tick + tick/2 - 1)
		assert.Zero(t, prepare())
		time.Sleep(time.Nanosecond)
		assert.Equal(t, 3, prepare())
	})
}

// A long drain does not make the worker skip the next one, unless it missed a tick.
func TestPunctualWorkerDrainsAtEveryTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		for range 5 {
			e.core.worker.sleeper.Load().stop() // it would wait for mu
			e.wheel.onAdd = func() { time.Sleep(tick * 3 / 4) }
			timeout := e.after(t, time.Hour, nothing)
			time.Sleep(time.Duration((e.core.schedule.tick+1)*e.core.env.tickDur - e.core.env.clock.Now()))
			require.Equal(t, goOn, e.step())
			require.Contains(t, e.wheel.added, timeout)
		}
	})
}

// The process is stopped, or the machine sleeps, during a drain.
func TestPauseDuringADrainDelaysNoLaterTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const pause = time.Minute
		e := newTimer(t)
		e.wheel.onAdd = func() {
			e.wheel.onAdd = nil
			time.Sleep(pause)
		}
		e.after(t, 2*pause, nothing)
		time.Sleep(tick + pause)
		cancelled := e.after(t, pause, nothing)
		synctest.Wait()
		cancelled.Cancel()
		late := time.Duration(-1)
		deadline := time.Duration(e.core.env.clock.Now()) + tick
		e.after(t, tick, func() { late = time.Duration(e.core.env.clock.Now()) - deadline })
		pass(3*tick + maxDrainPause)
		assert.GreaterOrEqual(t, late, time.Duration(0), "it ran")
		assert.LessOrEqual(t, late, tick+maxDrainPause)
		assert.Zero(t, e.core.intake.of(cancelled).backlog(), "the cancelled timeout is discarded")
	})
}

func TestEveryStripeTakesTurnsAsTheFirst(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	e := newIdleTimer(t)
	c := e.core
	first := map[int]bool{}
	for range len(c.intake.stripes) {
		from := map[*Timeout]int{}
		for i := range c.intake.stripes {
			timeout := &Timeout{state: newState(forever), home: &e.workers[0]}
			from[timeout] = i
			require.True(t, c.intake.stripes[i].added.Push(timeout))
		}
		before := e.wheel.adds
		c.schedule.drain(never)
		for timeout, i := range from {
			if e.wheel.added[timeout].turn == before+1 {
				first[i] = true
			}
		}
		clear(e.wheel.added)
	}
	assert.Len(t, first, len(c.intake.stripes))
}
