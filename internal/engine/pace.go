package engine

import (
	"math"
	"time"
)

// Pacing
//
// A push never waits for the worker, and costs the worker more than the caller. Callers
// at full speed would outrun it. They therefore help, as goroutines that allocate assist
// Go's garbage collector: when the worker is late or a stripe is full, a caller takes mu
// and drains a batch of its stripe, which is in its processor's cache. It never waits for
// users' code, which runs without mu.
//
//	P1. A stripe holds no more than maxBacklog timeouts, plus a batch or the pushes
//	    between two looks of each processor's callers: a caller that finds more waits
//	    for mu. Every take of a queue is therefore bounded.
//	P2. A caller that drains acts as the worker would: it stores no timeout for a tick
//	    before earliest, leaves due alone, and queues notices for the worker. It runs
//	    no users' code. The wheel of a sleeping worker stood still, so the caller first
//	    moves it to the present.
//	P3. A caller that pushes a timeout which is due before the alarm of a sleeping
//	    worker wakes it, or drains the timeout and corrects the alarm, even if
//	    another caller has drained it.
//	P4. While the worker is late, callers that schedule fast rest, each time for a bounded
//	    time: they would outrun it even if it only waits for a processor. They never
//	    yield: runtime.Gosched moves its caller behind all other goroutines. Workers do
//	    not rest, nor callers of Cancel and Reset, who make no more work. A caller may
//	    hold a lock for which a task waits. Therefore callers do not rest beside a task
//	    that the watchdog found slow and that has held the worker for longestWait. A worker
//	    that waits for a processor for as long is not held: its callers go on resting. In
//	    a synctest bubble none rests: its clock stands still while a goroutine waits for
//	    such a lock.

const (
	paceEvery  = 128     // pushes to a stripe between two looks
	maxBacklog = 1 << 15 // timeouts in a stripe
	assistLen  = 1024    // most timeouts that a caller drains together

	// While the worker is late, its callers together push paceEvery timeouts per
	// interval, which is the square of the lateness over restUnit: ten million a second
	// at a lateness of 2 ms, 100,000 at 20 ms. At 56 ms and more, each caller pushes at
	// most 12,800 a second. A caller that is early by less than minRest does not rest.
	restUnit = 312 * time.Millisecond
	minRest  = 50 * time.Microsecond
	maxRest  = 10 * time.Millisecond

	// sleeperTraffic is the number of timeouts, beyond those that are no traffic, that
	// callers drain for a sleeping worker.
	sleeperTraffic = 16
)

// attend makes the worker look at a timeout that was pushed to s and has the given
// deadline, unless it will look at the intake in time anyway (P3).
func (c *Core) attend(s *stripe, deadline int64) {
	if c.signal.phase.Load() != ticking {
		c.attendSlow(s, deadline)
	}
}

func (c *Core) attendSlow(s *stripe, deadline int64) {
	switch {
	case c.signal.phase.Load() != asleep || c.timer.clock.Apart(): // the alarm is on the timer's side (W7)
		c.wakeWorker()
	case deadline < c.signal.alarm.Load():
		c.drainForSleeper(s)
	}
}

// pace looks, at each paceEvery-th push, whether the caller should help. n is the
// number of the push. The caller may rest if isNew is true: the timeout is new.
func (c *Core) pace(s *stripe, n int64, isNew bool) {
	if n%paceEvery == 0 {
		c.paceNow(s, isNew)
	}
}

func (c *Core) paceNow(s *stripe, isNew bool) {
	switch {
	case c.signal.phase.Load() == asleep:
		c.wakeWorker() // it sleeps because there was little traffic
	case s.backlog() > maxBacklog/2:
		if !c.mu.TryLock() {
			if s.backlog() <= maxBacklog {
				return // the worker or another caller is draining
			}
			c.mu.Lock()
		}
		c.assist(s)
		c.mu.Unlock()
	case !c.timer.clock.Apart() && c.timer.now() >= c.signal.assistFrom.Load():
		slow := false
		if c.mu.TryLock() {
			c.assist(s)
			slow = c.firing.watchdog.inSlowTask()
			c.mu.Unlock()
		}
		if isNew && c.timer.rests && !slow {
			c.rest()
		}
	}
}

// rest holds back callers that schedule fast while the worker is late (P4).
func (c *Core) rest() {
	now := c.timer.now()
	late := min(max(now-c.worker.lags.lookAt.Load(), 0), int64(time.Second))
	interval := min(late*late/int64(restUnit), int64(maxRest))
	was := c.signal.nextPush.Load()
	at := min(max(was, now), now+int64(maxRest))
	c.signal.nextPush.CompareAndSwap(was, at+interval)
	if at >= now+int64(minRest) && !c.timer.isWorker(goroutineID()) {
		time.Sleep(time.Duration(at - now))
	}
}

// drainForSleeper drains s on behalf of the sleeping worker and advances its alarm if
// necessary. It wakes the worker if that does not suffice, or if there is traffic: the
// worker then looks at every tick, and callers need not drain for it.
func (c *Core) drainForSleeper(s *stripe) {
	if !c.mu.TryLock() {
		c.wakeWorker()
		return
	}
	c.assist(s)
	enough := len(c.schedule.nextNotices) == 0 && s.backlog() <= 0 && !c.schedule.draining.busy(c.timer.now(), sleeperTraffic)
	if enough {
		c.worker.correctAlarm()
	}
	c.mu.Unlock()
	if !enough {
		c.wakeWorker()
	}
}

// catchUp moves the wheel of a worker that sleeps or has not begun to the tick before the
// present one. It returns false if Stop took the wheel. Guarded by mu.
func (c *Core) catchUp() bool {
	if c.schedule.wheel == nil {
		return false
	}
	if c.worker.sleeping && !c.timer.clock.Apart() { // (W7)
		c.schedule.skipTo(c.timer.now()/c.timer.tickDur - 1)
	}
	return true
}

// assist drains a batch of s. Guarded by mu.
func (c *Core) assist(s *stripe) {
	if c.catchUp() {
		b := budget{room: assistLen, until: math.MaxInt64}
		c.schedule.drainChanged(s, &b)
		b.spent = false
		c.schedule.drainAdded(s, &b)
	}
}

// wakeWorker starts the worker, or wakes it. The slow path of a push, taken when
// phase is not ticking.
func (c *Core) wakeWorker() {
	switch {
	case c.timer.clock.Apart(): // (W7)
		c.nudge()
	case c.signal.phase.CompareAndSwap(asleep, ticking):
		now := c.timer.now()
		c.signal.emptied.Store(now)
		c.signal.assistFrom.Store(now + c.timer.onTime())
		c.worker.relieveSoon()
		c.worker.sleeper.Load().wake()
	case c.signal.phase.Load() == unstarted:
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.signal.phase.CompareAndSwap(unstarted, ticking) {
			now := c.timer.now()
			c.signal.emptied.Store(now)
			c.signal.assistFrom.Store(now + c.timer.onTime())
			c.startWorker()
		}
	}
}

// keepWorker starts the worker, which then does not retire.
func (c *Core) keepWorker() {
	c.mu.Lock()
	c.worker.kept = true
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
		s = newSleeper(&c.errands, c.worker.relieve)
		c.worker.sleeper.Store(s)
	}
	s.setRelief(standby, 0)
	c.worker.workers.Add(1)
	go runWorker(&c.worker, new(shift))
}

// drainAll drains the whole intake.
func (c *Core) drainAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.catchUp() {
		return
	}
	for i := range c.intake.stripes {
		b := budget{room: math.MaxInt, until: never}
		c.schedule.drainAdded(&c.intake.stripes[i], &b)
		c.schedule.drainChanged(&c.intake.stripes[i], &b)
	}
}
