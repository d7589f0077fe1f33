package engine

import (
	"math"
	"runtime"
	"time"
)

// Pacing
//
// A push never waits for the worker, so callers at full speed would outrun it:
// what they push costs the worker more than it costs them. So callers help, as
// goroutines that allocate assist Go's garbage collector: when the worker is late,
// or a stripe is full, a caller takes mu and drains a batch of its own stripe,
// which is in its processor's cache. It never waits for users' code, since that runs
// without mu.
//
//	P1. A stripe holds no more than maxBacklog timeouts and what is pushed between
//	    two looks of each processor's callers, or a batch: a caller that finds more
//	    waits for mu. So every take of a queue is bounded.
//	P2. A caller that drains does what the worker would do: it adds nothing for a
//	    tick before earliest, leaves what is in due alone, and queues notices for the
//	    worker. It runs no users' code. The wheel of a worker that sleeps stood still,
//	    so the caller first moves it on.
//	P3. A caller that pushes a timeout which is due before the alarm of a sleeping
//	    worker wakes it, or drains the timeout and corrects the alarm, even if
//	    another caller has drained it.

const (
	paceEvery  = 128     // pushes to a stripe between two looks
	maxBacklog = 1 << 15 // timeouts in a stripe
	assistLen  = 1024    // timeouts that a caller drains at once, at most

	// sleeperTraffic is how many timeouts, beyond one a tick, callers drain for a
	// sleeping worker.
	sleeperTraffic = 16

	// maxOnTime is how late the worker may be, beyond a tick's begin, before
	// callers assist it. To be woken takes it some time.
	maxOnTime = time.Millisecond
)

// attend makes the worker look at a timeout that was pushed to s and is due at
// deadline, unless it is about to look at the intake anyway, or sleeps and will wake
// in time by itself (P3).
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

// drainForSleeper drains what the caller pushed to s and sets the alarm, so that
// the sleeping worker need not wake for it. It wakes the worker where that is not
// enough, and where there is traffic: then the worker comes by at every tick, and
// callers need not do this.
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

// catchUp moves the wheel of a worker that sleeps, or has yet to begin, to the tick
// before the present one, or before the next one with work if that is earlier. A wheel
// places timeouts by the distance from its tick: from one long past, Next could be a
// tick that is over, as if the worker were late. Guarded by mu.
func (c *Core) catchUp() {
	resting := c.schedule.sleeping || c.schedule.tick == 0 && !c.firing.running
	if c.schedule.wheel == nil || !resting || c.timer.clock.Apart() { // (W7)
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
	c.drainChanged(s, &b)
	b.spent = false
	c.drainAdded(s, &b)
}
