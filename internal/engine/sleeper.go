package engine

import "time"

// sleeper is the place where the worker sleeps.
type sleeper struct {
	alarm   *time.Timer                   // wakes the worker. Set under Core.mu.
	reliefs [len(reliefAfter)]*time.Timer // replace the worker if it is late (W6)
	token   chan struct{}                 // holds a token from a caller that woke the worker
}

// reliefAfter is the lateness of the worker at which each relief comes. Several are
// needed, because a relief itself may have to wait for a processor.
var reliefAfter = [...]time.Duration{0, maxOnTime, 2 * maxOnTime, 4 * maxOnTime, 8 * maxOnTime}

const (
	// standby is the relief that is always set.
	standby = 1

	// The other reliefs are set for the time wary after the worker was late by more
	// than lateWake. A machine that is not saturated does not pay for them.
	lateWake = 4 * time.Millisecond
	wary     = 10 * time.Second
)

func newSleeper(c *Core) *sleeper {
	s := &sleeper{alarm: time.NewTimer(forever), token: make(chan struct{}, 1)}
	for i := range s.reliefs {
		s.reliefs[i] = time.AfterFunc(forever, c.relieve)
	}
	s.stop()
	return s
}

// set sets the alarm to go off after d, and all reliefs or only the standby. The alarm
// takes at least a nanosecond, because Go 1.25 hangs in a synctest bubble when a timer
// with a channel is reset to the present.
func (s *sleeper) set(d time.Duration, all bool) {
	s.alarm.Reset(max(d, 1))
	if !all {
		s.reliefs[standby].Reset(d + reliefAfter[standby])
		return
	}
	for i, r := range s.reliefs {
		r.Reset(d + reliefAfter[i])
	}
}

// stop stops the alarm and the reliefs.
func (s *sleeper) stop() {
	s.alarm.Stop()
	for _, r := range s.reliefs {
		r.Stop()
	}
}

// wake wakes the worker, or keeps it from falling asleep. It does not block.
func (s *sleeper) wake() {
	select {
	case s.token <- struct{}{}:
	default: // the token that is there wakes it
	}
}

// sleep sleeps until the alarm goes off, a caller wakes the worker, or the timer is
// stopped.
func (s *sleeper) sleep(quit <-chan struct{}) {
	select {
	case <-s.alarm.C:
	case <-s.token:
	case <-quit:
	}
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
	c.signal.assistFrom.Store(at + c.onTime())
	now := c.timer.now()
	c.worker.sleeper.Load().set(time.Duration(at-now), now < c.schedule.waryUntil)
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

// relieve takes the place of a worker that should have woken but did not get to run,
// because it waits its turn behind many goroutines. The scheduler often runs this
// goroutine next, because it was just created. It leaves alone a worker that runs tasks,
// however long they take.
func (c *Core) relieve() {
	if !c.mu.TryLock() { // the worker is at work, or a caller that leaves it asleep
		time.AfterFunc(maxOnTime, c.relieve) // the reliefs may have been set anew
		return
	}
	if !c.mayRelieve() {
		c.mu.Unlock()
		return
	}
	c.wakeUp(c.timer.now())
	c.worker.workers.Add(1)
	c.mu.Unlock()
	runWorker(c, &shift{working: true, relief: true})
}

// mayRelieve reports whether the worker is late. Guarded by mu.
func (c *Core) mayRelieve() bool {
	if phase := c.signal.phase.Load(); !c.schedule.sleeping || phase == unstarted || phase == stopped {
		return false
	}
	now := c.timer.now()
	if now >= min(c.schedule.expected, c.signal.assistFrom.Load()) {
		return true
	}
	if c.schedule.expected != never { // a caller may have set the standby for a token
		d := time.Duration(c.schedule.expected - now)
		c.worker.sleeper.Load().reliefs[standby].Reset(d + reliefAfter[standby])
	}
	return false
}
