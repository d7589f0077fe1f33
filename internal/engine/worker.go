package engine

import (
	"runtime/pprof"
	"time"

	"github.com/hashedwheel/hwt/internal/enginekit"
)

// Ground rules
//
// At every tick the worker drains the intake, collects the due timeouts from the wheel,
// releases mu, and runs the tasks. When no tick is left to process, it drains the rest of
// the intake in rounds. Then it sleeps: to the next tick while there is traffic, and
// otherwise to the wheel's next occupied tick. If the wheel is empty, it sleeps until a
// caller wakes it, and retires after a moment.
//
//	W1. phase goes unstarted → ticking ⇄ asleep, from asleep to unstarted again, and
//	    from any of them to stopped, for good. Every change is a compare-and-swap or a
//	    swap. The holder of mu makes those between unstarted and another one, except
//	    for the one to stopped.
//	W2. No lost wake-up: the worker enters asleep and then looks at the intake
//	    once more, without releasing mu; a caller pushes and then looks at phase.
//	    Both are sequentially consistent, so that at least one of them sees the
//	    other. A caller need not wake the worker for a deadline that is no earlier than
//	    the alarm, which is stored before the worker enters asleep.
//	W3. One goroutine moves phase from asleep to ticking. If it is a caller, it
//	    leaves a token, unless there is one. A goroutine that finds a token wakes; it
//	    never sleeps on with one.
//	W4. The wheel and the consumer's side of the intake belong to the holder of
//	    mu: the worker, a caller that assists it (pace.go), or Stop. The worker
//	    does not hold it while it sleeps or runs users' code.
//	W5. While running is set, notices and due do not change; only the worker
//	    resets it. A timeout in due is at the spot inDue, and its state word alone
//	    decides its end. Timeouts that were reset since they were collected go back
//	    to the wheel in the step that resets running. Once phase is stopped no more
//	    ticks are processed, and due stays as it is for Stop.
//	W6. The worker is the goroutine that cleared sleeping, under mu, until it sets
//	    sleeping again. Usually one goroutine sleeps and works in turn. If it is late,
//	    a relief clears sleeping in its place, works until it would sleep, sets the
//	    alarm, and ends. A goroutine that wakes while a relief is the worker sleeps on.
//	    A caller that leaves a token sets the standby relief first.
//	W7. A caller on the other side of a synctest bubble's border has another clock. It
//	    pushes, and wakes the worker by its token. It moves neither wheel nor alarm,
//	    leaves phase to the worker, and starts none, whose goroutine would be the
//	    bubble's. From outside, it leaves a bubble's token alone, too.
//	W8. A worker retires, unless Start was called, when it has slept for linger with
//	    nothing pending: under mu it moves phase from asleep to unstarted, looks at the
//	    intake once more as in W2, and gives its place in workers back. The next one has
//	    its sleeper. A Stop that comes between starts another worker. done is
//	    closed by the last worker that ends, once one has closed notices.

// linger is the time for which an idle worker stays. Leak checkers look again for some
// tenths of a second.
const linger = 50 * time.Millisecond

// wakeWorker starts the worker, or wakes it. The slow path of a push, taken when
// phase is not ticking.
func (c *Core) wakeWorker() {
	switch {
	case c.timer.clock.Apart(): // (W7)
		c.nudge()
	case c.signal.phase.CompareAndSwap(asleep, ticking):
		now := c.timer.now()
		c.signal.emptied.Store(now)
		c.signal.assistFrom.Store(now + c.onTime())
		s := c.worker.sleeper.Load()
		s.reliefs[standby].Reset(reliefAfter[standby])
		s.wake()
	case c.signal.phase.Load() == unstarted:
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.signal.phase.CompareAndSwap(unstarted, ticking) {
			now := c.timer.now()
			c.signal.emptied.Store(now)
			c.signal.assistFrom.Store(now + c.onTime())
			c.startWorker()
		}
	}
}

// keepWorker starts the worker, which then does not retire.
func (c *Core) keepWorker() {
	c.mu.Lock()
	c.schedule.kept = true
	c.mu.Unlock()
	c.wakeWorker()
}

// nudge makes the worker look at the intake without touching phase or alarm.
func (c *Core) nudge() {
	if s := c.worker.sleeper.Load(); s != nil && !c.timer.clock.Foreign() {
		s.wake()
	}
}

// startWorker starts a worker if the last one has retired or never was.
func (c *Core) startWorker() {
	s := c.worker.sleeper.Load()
	if s == nil {
		s = newSleeper(c)
		c.worker.sleeper.Store(s)
	}
	s.reliefs[standby].Reset(reliefAfter[standby])
	c.worker.workers.Add(1)
	go runWorker(c, new(shift))
}

// onTime returns the lateness of the worker at which callers begin to assist it.
func (c *Core) onTime() int64 { return min(c.timer.tickDur, int64(maxOnTime)) }

// shift is the state of a goroutine that is or may become the worker.
type shift struct {
	id      int64 // of the goroutine; 0 if it was not identified yet
	working bool  // it is the worker (W6)
	relief  bool  // it ends instead of sleeping
}

// work is a worker goroutine. A task may end it by runtime.Goexit; then another one
// continues in its place.
func (c *Core) work(g *shift) {
	finished := false
	defer func() {
		if !finished {
			g.id = 0
			go runWorker(c, g)
		}
	}()
	if !g.relief {
		c.identify(g)
	}
	if end := c.run(g); end == quit || end == relieved {
		c.worker.sleeper.Load().stop()
		for end == quit && c.takeLateNotices() {
			c.enter(g)
			c.fire()
		}
		c.leave()
	}
	finished = true
}

// leave gives the worker's place back.
func (c *Core) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.worker.workers.Add(-1) == 0 && c.schedule.noticesClosed {
		close(c.worker.done)
	}
}

// identify stores the number of the calling goroutine in g, and labels the goroutine.
func (c *Core) identify(g *shift) {
	g.id = goroutineID()
	pprof.SetGoroutineLabels(enginekit.TimerLabels(c.timer.runner.Name))
}

// enter makes g known as the worker before it runs users' code.
func (c *Core) enter(g *shift) {
	if g.id == 0 { // a relief may run none
		c.identify(g)
	}
	c.worker.workerID.Store(g.id)
}

// run takes steps, fires and sleeps until the goroutine ends. It returns the reason.
func (c *Core) run(g *shift) then {
	for {
		if g.working && c.firing.running { // a tick's tasks, or the rest after one ended its goroutine
			c.enter(g)
			c.fire()
		}
		switch then := c.step(g); {
		case then == goOn:
		case then == sleep && !g.relief:
			c.worker.sleeper.Load().sleep(c.worker.quit)
		default:
			return then
		}
	}
}

// then is the worker's next move, returned by step.
type then int

const (
	goOn     then = iota // run the tasks, if there are any, and take another step
	sleep                // sleep until the alarm, or until a caller wakes it
	relieved             // end, since the timer was stopped and another goroutine is the worker
	quit                 // end, since the timer was stopped
	retired              // end, because the timer is idle
)

// step takes mu once: for a tick that has come, or for a round, in which the worker
// drains the rest of the intake and decides to sleep.
func (c *Core) step(g *shift) then {
	c.mu.Lock()
	defer c.mu.Unlock()
	over := c.schedule.wheel == nil || c.signal.phase.Load() == stopped // then due is Stop's (W5)
	now := c.timer.now()
	switch {
	case g.working:
	case c.schedule.sleeping:
		if !over && c.retire(now) {
			return retired
		}
		c.wakeUp(now)
		c.worker.workerID.Store(g.id)
		g.working = true
	case over:
		return relieved
	default: // a relief is the worker, and will set the alarm
		return sleep
	}
	if over {
		return quit
	}
	if now/c.timer.tickDur > c.schedule.tick {
		c.processTick(now)
		c.beginFiring()
		return goOn
	}
	then := c.round(now)
	if then == sleep {
		g.working = false
		if g.relief {
			c.worker.workers.Add(-1)
		}
	}
	return then
}

// wakeUp makes the calling goroutine the worker (W6). Guarded by mu.
func (c *Core) wakeUp(now int64) {
	if c.schedule.draining.sleptAt >= 0 { // it is not the start
		c.totals.wakeups.Add(1)
	}
	if now-min(c.schedule.expected, c.signal.assistFrom.Load()) > int64(lateWake) {
		c.schedule.waryUntil = now + int64(wary)
	}
	c.schedule.sleeping = false
	if c.signal.phase.CompareAndSwap(asleep, ticking) {
		c.signal.emptied.Store(now)
	}
}

// idle reports whether the worker may retire, once it has slept for a while.
func (c *Core) idle() bool {
	return !c.schedule.kept && c.schedule.wheel.Next() == never && len(c.schedule.nextNotices) == 0
}

// retire ends the part of a worker that slept long enough with nothing pending (W8), and
// without an alarm, or its relief would start another. It stays marked as sleeping, so
// that callers catch up for it.
func (c *Core) retire(now int64) bool {
	if c.schedule.expected != never || now < c.schedule.idleUntil || !c.idle() || !c.signal.phase.CompareAndSwap(asleep, unstarted) {
		return false
	}
	if !c.intake.empty() && c.signal.phase.CompareAndSwap(unstarted, asleep) { // as W2
		return false
	}
	c.worker.workers.Add(-1)
	return true
}

// processTick does the wheel's part of a tick: the current one, or an earlier one
// if something was due then and the worker is behind.
func (c *Core) processTick(now int64) {
	c.schedule.tick = min(now/c.timer.tickDur, max(c.schedule.wheel.Next(), c.schedule.tick+1))
	c.schedule.earliest = c.schedule.tick
	c.schedule.wheel.MoveTo(c.schedule.tick)
	c.drainAtTick(now)
	c.schedule.earliest = c.schedule.tick + 1
	c.firing.due = c.schedule.collect(c.firing.due)
	c.totals.ticks.Add(1)
	c.noteLag(now)
}

// noteLag records how far the worker is behind: it meant to look at expected.
func (c *Core) noteLag(now int64) {
	lag := now - min(c.schedule.expected, c.schedule.tick*c.timer.tickDur)
	c.totals.lags.note(now, lag)
	c.expect((c.schedule.tick + 1) * c.timer.tickDur)
}

// expect records when the worker means to look next.
func (c *Core) expect(at int64) {
	c.schedule.expected = at
	c.totals.lags.lookAt.Store(at)
}

// round drains the rest of the intake after the last tick. If the intake is empty, it
// decides how to sleep.
func (c *Core) round(now int64) then {
	if d := &c.schedule.draining; d.stale || !d.complete || len(c.schedule.nextNotices) > 0 {
		c.schedule.drain(min((c.schedule.tick+1)*c.timer.tickDur, now+int64(maxHold)))
		c.noteEmptied(now)
		c.beginFiring() // notices, if there are any
		if c.firing.running || !d.complete {
			return goOn
		}
	}
	return c.fallAsleep()
}

// fallAsleep decides how to sleep. While there is traffic the worker comes by at
// every tick, so that no caller has to wake it.
func (c *Core) fallAsleep() then {
	d := &c.schedule.draining
	next := c.schedule.wheel.Next()
	toTick := c.busy(c.schedule.tick) || next <= c.schedule.tick+1
	d.arrivals, d.sleptAt, d.fired, d.stale = 0, c.schedule.tick, false, true
	if toTick {
		c.schedule.sleeping = true
		c.setAlarm((c.schedule.tick + 1) * c.timer.tickDur)
		return sleep
	}
	c.setAlarm(c.timeOf(next))
	if !c.signal.phase.CompareAndSwap(ticking, asleep) {
		return quit
	}
	if !c.intake.empty() { // W2
		c.signal.phase.CompareAndSwap(asleep, ticking)
		return goOn
	}
	c.schedule.sleeping = true
	return sleep
}

// busy reports whether more than one timeout per tick came through the intake since the
// worker fell asleep.
func (c *Core) busy(tick int64) bool {
	return c.schedule.draining.arrivals > tick-c.schedule.draining.sleptAt
}
