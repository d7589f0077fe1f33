package engine

import (
	"context"
	"math"
	"runtime/pprof"
	"sync/atomic"
	"time"
)

// Ground rules
//
// One worker goroutine a timer. At every tick it settles what came through the
// intake, expires what the wheel has for the tick, lets go of the wheel, and
// runs the tasks. Then it sleeps: to the next tick while there is traffic, to
// the wheel's next occupied tick when there is none, and for good when the
// wheel is empty too.
//
//	W1. phase goes unstarted → ticking ⇄ asleep, and from any of them to stopped,
//	    for good. Every change is a compare-and-swap or a swap.
//	W2. No lost wake-up: the worker enters asleep and then looks at the intake
//	    once more; a caller pushes and then looks at phase. Both are sequentially
//	    consistent, so that at least one of them sees the other.
//	W3. Whoever moves phase from asleep to ticking is one goroutine. If it is a
//	    caller, it puts one token into wake, and the worker takes it out before
//	    it sleeps again: wake never holds two.
//	W4. The wheel and the consumer's side of the intake belong to the holder of
//	    mu. The worker holds it neither while it sleeps nor while users' code
//	    runs.
//	W5. While firing is set, told and due do not change; only the worker resets
//	    it. What becomes of a timeout in due is settled by its life word alone.
//	    What was reset since it came due goes back to the wheel in the step that
//	    resets firing. Once phase is stopped no more ticks are processed, and due
//	    is left as it is for Stop to go through.

// rouse brings the worker to look at the intake at its next tick: it starts the
// worker or wakes it. The slow path of a push, taken when phase is not ticking.
func (c *Core) rouse() {
	switch {
	case c.phase.CompareAndSwap(asleep, ticking):
		c.wake <- c.now()/c.tickDur + 1 // never blocks (W3)
	case c.phase.CompareAndSwap(unstarted, ticking):
		go c.work()
	}
}

// work is the worker goroutine. A task may end it by runtime.Goexit; then
// another one goes on where it stopped.
func (c *Core) work() {
	finished := false
	defer func() {
		if !finished {
			go c.work()
			return
		}
		close(c.done)
	}()
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("hwt", c.runner.Name)))
	id, _ := goroutine()
	c.workerID.Store(id)
	if c.sleeper == nil {
		c.sleeper = time.NewTimer(forever)
	}
	c.fire() // what a task's Goexit left over
	for c.sleep() && c.catchUp() {
	}
	for c.takeLast() {
		c.fire()
	}
	finished = true
}

// catchUp processes every tick that has come. It returns false if the timer was
// stopped.
func (c *Core) catchUp() bool {
	for {
		now := c.now()
		if now/c.tickDur <= c.tick {
			return true
		}
		if !c.prepare(now) {
			return false
		}
		c.fire()
	}
}

// prepare does the wheel's part of a tick: the current one, or an earlier one
// if something was due then and the worker trails.
func (c *Core) prepare(now int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wheel == nil || c.phase.Load() == stopped { // then due is Stop's (W5)
		return false
	}
	c.tick = min(now/c.tickDur, max(c.wheel.Next(), c.tick+1))
	c.wheel.MoveTo(c.tick)
	c.drain(now)
	c.expire()
	c.nextDue = c.wheel.Next()
	c.totals.ticks.Add(1)
	c.totals.maxLag.Store(max(c.totals.maxLag.Load(), now-c.tick*c.tickDur))
	c.beginFiring()
	return true
}

// expire gathers in due what comes due at this tick. What was reset to later
// since it was filed, or filed early by the wheel, is filed again.
func (c *Core) expire() {
	c.due = c.wheel.Expire(c.due)
	now := c.tick * c.tickDur
	kept := c.due[:0]
	for i, t := range c.due {
		c.prefetchTimeout(i + prefetchAhead)
		t.place = place{}
		switch w := atomic.LoadInt64(&t.life); {
		case ended(w): // cancelled, and in a queue to be settled
		case deadlineOf(w) > now:
			c.settle(c.moveOf(t, w))
		default:
			kept = append(kept, t)
		}
	}
	clear(c.due[len(kept):])
	c.due = kept
}

// sleep waits until there may be something to do. It returns false if the timer
// was stopped.
func (c *Core) sleep() bool {
	next := c.tick + 1
	if c.quiet && c.nextDue > next && c.phase.CompareAndSwap(ticking, asleep) {
		if c.intakeEmpty() {
			return c.doze(c.nextDue)
		}
		if !c.phase.CompareAndSwap(asleep, ticking) && !c.takeToken() {
			return false
		}
	}
	return c.sleepUntil(next)
}

func (c *Core) intakeEmpty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.intake.empty()
}

// takeToken consumes the token of the caller that moved phase to ticking (W3).
// It returns false if it was not a caller, but stop.
func (c *Core) takeToken() bool {
	select {
	case <-c.wake:
		return true
	case <-c.quit:
		return false
	}
}

// doze sleeps until tick, or until a caller rouses the worker: then to the next
// tick, so that one tick's pushes cost one waking.
func (c *Core) doze(tick int64) bool {
	var alarm <-chan time.Time
	if tick <= math.MaxInt64/c.tickDur {
		c.sleeper.Reset(time.Duration(tick*c.tickDur - c.now()))
		alarm = c.sleeper.C
	}
	select {
	case <-alarm:
		c.totals.wakeUps.Add(1)
		return c.phase.CompareAndSwap(asleep, ticking) || c.takeToken()
	case soon := <-c.wake:
		c.totals.wakeUps.Add(1)
		return c.sleepUntil(min(tick, soon)) // the alarm may be due as well
	case <-c.quit:
		return false
	}
}

// sleepUntil sleeps until tick has come.
func (c *Core) sleepUntil(tick int64) bool {
	c.sleeper.Reset(time.Duration(tick*c.tickDur - c.now()))
	select {
	case <-c.sleeper.C:
		c.totals.wakeUps.Add(1)
		return true
	case <-c.quit:
		return false
	}
}
