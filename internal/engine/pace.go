package engine

import (
	"math"
	"runtime"
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

const (
	paceEvery  = 128     // pushes to a stripe between two looks
	maxBacklog = 1 << 15 // timeouts in a stripe
	assistLen  = 1024    // most timeouts that a caller drains together

	// sleeperTraffic is the number of timeouts, beyond one per tick, that callers drain
	// for a sleeping worker.
	sleeperTraffic = 16

	// maxOnTime is the lateness of the worker, from the begin of a tick, at which
	// callers begin to assist. Waking it takes some time.
	maxOnTime = time.Millisecond
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
// number of the push.
func (c *Core) pace(s *stripe, n int64) {
	if n%paceEvery == 0 {
		c.paceNow(s)
	}
}

func (c *Core) paceNow(s *stripe) {
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
		if c.mu.TryLock() {
			c.assist(s)
			c.mu.Unlock()
		}
		runtime.Gosched() // the worker may be waiting for this processor
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
	enough := len(c.schedule.nextNotices) == 0 && s.backlog() <= 0 && !c.busy(c.timer.now()/c.timer.tickDur+sleeperTraffic)
	if enough {
		c.correctAlarm()
	}
	c.mu.Unlock()
	if !enough {
		c.wakeWorker()
	}
}

// catchUp moves the wheel of a worker that sleeps or has not begun to the tick before
// the present one, or before the next tick with work if that is earlier. A wheel places
// timeouts by their distance from its tick. From a tick long past, Next could be a tick
// that is over, as if the worker were late. Guarded by mu.
func (c *Core) catchUp() {
	if c.schedule.wheel == nil || !c.schedule.sleeping || c.timer.clock.Apart() { // (W7)
		return
	}
	tick := c.timer.now()/c.timer.tickDur - 1
	if tick <= c.schedule.tick {
		return
	}
	if tick = min(tick, c.schedule.wheel.Next()-1); tick > c.schedule.tick {
		c.schedule.tick, c.schedule.earliest = tick, tick+1
		c.schedule.wheel.MoveTo(tick)
	}
}

// assist drains a batch of s. Guarded by mu.
func (c *Core) assist(s *stripe) {
	if c.schedule.wheel == nil {
		return
	}
	c.catchUp()
	b := budget{room: assistLen, until: math.MaxInt64}
	c.schedule.drainChanged(s, &b)
	b.spent = false
	c.schedule.drainAdded(s, &b)
}
