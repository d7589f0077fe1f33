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
//	    leaves a token, unless there is one. A worker that finds a token wakes; it
//	    never sleeps on with one.
//	W4. The wheel and the consumer's side of the intake belong to the holder of
//	    mu: the worker, a caller that assists it (pace.go), or Stop. The worker
//	    does not hold it while it sleeps or runs users' code.
//	W5. While running is set, notices and due do not change; only the worker
//	    resets it. A timeout in due is at the spot inDue, and its state word alone
//	    decides its end. Timeouts that were reset since they were collected go back
//	    to the wheel in the step that resets running. Once phase is stopped no more
//	    ticks are processed, and due stays as it is for Stop.
//	W6. The worker is the goroutine whose sleeper is Core.sleeper. That changes
//	    only under mu, while sleeping is set: a worker that was relieved finds it
//	    changed before it does anything else, and ends.
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
		c.worker.sleeper.Load().wake()
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
	c.worker.workers.Add(1)
	go runWorker(c, s)
}

// onTime returns the lateness of the worker at which callers begin to assist it.
func (c *Core) onTime() int64 { return min(c.timer.tickDur, int64(maxOnTime)) }

// work is the worker goroutine. A task may end it by runtime.Goexit; then another one
// continues in its place.
func (c *Core) work(s *sleeper) {
	finished := false
	defer func() {
		if !finished {
			go runWorker(c, s)
		}
	}()
	pprof.SetGoroutineLabels(enginekit.TimerLabels(c.timer.runner.Name))
	if c.enter(s) {
		c.fire() // the rest, after a task ended its goroutine
	}
	if end := c.run(s); end != retired { // then the sleeper may be another worker's
		s.stop()
		for end == quit && c.takeLateNotices() {
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

// enter makes this goroutine known as the worker, unless another one relieved it
// before it began (W6). It reports whether there are tasks left to run.
func (c *Core) enter(s *sleeper) bool {
	id := goroutineID()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.worker.sleeper.Load() != s {
		return false
	}
	c.worker.workerID.Store(id)
	return c.firing.running
}

// run takes steps, fires and sleeps until the worker ends. It returns the reason.
func (c *Core) run(s *sleeper) then {
	for {
		switch then := c.step(s); then {
		case goOn:
			c.fire()
		case sleep:
			s.sleep(c.worker.quit)
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
	relieved             // end, since another worker took over
	quit                 // end, since the timer was stopped
	retired              // end, because the timer is idle
)

// step takes mu once: for a tick that has come, or for a round, in which the worker
// drains the rest of the intake and decides to sleep.
func (c *Core) step(s *sleeper) then {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.worker.sleeper.Load() != s {
		return relieved
	}
	if c.schedule.wheel == nil || c.signal.phase.Load() == stopped { // then due is Stop's (W5)
		return quit
	}
	now := c.timer.now()
	if c.schedule.sleeping {
		if c.retire(now) {
			return retired
		}
		c.schedule.sleeping = false
		c.totals.wakeups.Add(1)
		if c.signal.phase.CompareAndSwap(asleep, ticking) {
			c.signal.emptied.Store(now)
		}
	}
	if now/c.timer.tickDur > c.schedule.tick {
		c.processTick(now)
		c.beginFiring()
		return goOn
	}
	return c.round(now)
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

// setAlarm has the worker wake when the clock reaches at. If at is never, only a caller
// wakes it.
func (c *Core) setAlarm(at int64) {
	c.expect(at)
	c.signal.alarm.Store(c.alarmFor(at))
	if at == never {
		c.signal.assistFrom.Store(never)
		c.worker.sleeper.Load().stop()
		if c.idle() {
			c.schedule.idleUntil = c.timer.now() + int64(linger)
			c.worker.sleeper.Load().alarm.Reset(linger)
		}
		return
	}
	late := at + c.onTime()
	c.signal.assistFrom.Store(late)
	now := c.timer.now()
	c.worker.sleeper.Load().set(time.Duration(at-now), time.Duration(late-now))
}

// alarmFor returns the first deadline of the tick that comes at the time given.
func (c *Core) alarmFor(at int64) int64 { return max(at-c.timer.tickDur+1, 0) }

// correctAlarm sets the alarm of a sleeping worker to the wheel's next occupied tick.
func (c *Core) correctAlarm() {
	if c.schedule.wheel == nil || c.signal.phase.Load() != asleep {
		return // the worker or Stop takes care of the wheel
	}
	at := c.timeOf(c.schedule.wheel.Next())
	if at > c.schedule.expected {
		c.signal.alarm.Store(c.alarmFor(at))
		if !c.intake.empty() { // its caller may rely on the alarm as it was: as W2
			c.signal.alarm.Store(c.alarmFor(c.schedule.expected))
			return
		}
	}
	if at != c.schedule.expected || at == never { // a worker with nothing pending lingers anew
		c.setAlarm(at)
	}
}

// timeOf returns the time at which tick has come; never if the clock does not
// reach it.
func (c *Core) timeOf(tick int64) int64 {
	if tick > (forever-1)/c.timer.tickDur {
		return never
	}
	return tick * c.timer.tickDur
}
