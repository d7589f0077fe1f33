package engine

import (
	"math"
	"time"
)

// linger is the time for which an idle worker stays. Leak checkers look again for some
// tenths of a second.
const linger = 50 * time.Millisecond

// sleeper is the place where the worker sleeps.
type sleeper struct {
	alarm   *time.Timer              // wakes the worker. Set under Core.mu.
	reliefs [len(reliefAfter)]errand // replace the worker if it is late (W6)
	token   chan struct{}            // holds a token from a caller that woke the worker
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

func newSleeper(errands *errands, relieve func()) *sleeper {
	s := &sleeper{alarm: time.NewTimer(forever), token: make(chan struct{}, 1)}
	for i := range s.reliefs {
		s.reliefs[i] = errands.make(relieve)
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
		s.setRelief(standby, d)
		return
	}
	for i := range s.reliefs {
		s.setRelief(i, d)
	}
}

// setRelief sets a relief for an alarm after d, which may be as long as a duration can be.
func (s *sleeper) setRelief(i int, d time.Duration) {
	s.reliefs[i].Reset(min(d, math.MaxInt64-reliefAfter[i]) + reliefAfter[i])
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

// setAlarm has the worker work when the clock reaches at, which covers deadlines from
// covers on. If at is never, only a caller wakes it.
func (w *worker) setAlarm(at, covers int64) {
	w.lags.expect(at)
	w.signal.alarm.Store(covers)
	if at == never {
		w.signal.assistFrom.Store(never)
		w.sleeper.Load().stop()
		if w.idle() {
			w.idleUntil = w.timer.now() + int64(linger)
			w.sleeper.Load().alarm.Reset(linger)
		}
		return
	}
	w.signal.assistFrom.Store(at + w.timer.onTime())
	now := w.timer.now()
	w.sleeper.Load().set(time.Duration(at-now), now < w.waryUntil)
}

// correctAlarm sets the alarm of a sleeping worker to the wheel's next occupied tick.
func (w *worker) correctAlarm() {
	if w.schedule.wheel == nil || w.signal.phase.Load() != asleep {
		return // the worker or Stop takes care of the wheel
	}
	at, covers := w.schedule.nextLook(w.timer.now())
	if was := w.signal.alarm.Load(); covers > was {
		w.signal.alarm.Store(covers)
		if !w.schedule.intake.empty() { // its caller may rely on the alarm as it was: as W2
			w.signal.alarm.Store(was)
			return
		}
	}
	w.signal.alarm.Store(covers)
	if at != w.lags.expected || at == never { // a worker with nothing pending lingers again
		w.setAlarm(at, covers)
		if w.signal.phase.Load() == ticking { // a caller woke the worker meanwhile (W6)
			w.signal.assistFrom.Store(w.timer.now() + w.timer.onTime())
			w.relieveSoon()
		}
	}
}

// relieve takes the place of a worker that should have woken but did not get to run,
// because it waits its turn behind many goroutines. The scheduler often runs this
// goroutine next, because it was just created. It leaves alone a worker that runs tasks,
// however long they take.
func (w *worker) relieve() {
	if !w.mu.TryLock() { // the worker is at work, or a caller that leaves it asleep
		w.relieveSoon() // the reliefs may have been set for a later alarm
		return
	}
	if !w.mayRelieve() {
		w.mu.Unlock()
		return
	}
	w.wakeUp(w.timer.now())
	w.workers.Add(1)
	w.mu.Unlock()
	runWorker(w, &shift{working: true, relief: true})
}

// relieveSoon sets the standby relief for the present, unless the worker may have ended.
func (w *worker) relieveSoon() {
	s := w.sleeper.Load()
	s.setRelief(standby, 0)
	if w.signal.phase.Load() == stopped { // (W8)
		s.stop()
	}
}

// mayRelieve reports whether the worker is late. If it is not, the standby comes when it is
// (W6). Guarded by mu.
func (w *worker) mayRelieve() bool {
	if phase := w.signal.phase.Load(); !w.sleeping || phase == unstarted || phase == stopped {
		return false
	}
	now := w.timer.now()
	set := int64(never)
	for {
		at := min(w.lags.expected, w.signal.assistFrom.Load())
		if now >= at {
			return true
		}
		if at == set {
			return false
		}
		w.sleeper.Load().setRelief(standby, time.Duration(at-now))
		set = at
	}
}

// fallAsleep decides how to sleep. While there is traffic, the worker comes at every tick
// or earlier, so that no caller has to wake it.
func (w *worker) fallAsleep(now int64) action {
	d := &w.schedule.draining
	at, covers := w.schedule.nextLook(now)
	end := (w.schedule.tick + 1) * w.timer.tickDur
	toTick := d.busy(now, 0) || covers < at && at <= end
	d.arrivals, d.sleptAt, d.fired, d.stale = 0, now, false, true
	if toTick {
		w.sleeping = true
		w.setAlarm(min(at, end), covers)
		return sleep
	}
	w.setAlarm(at, covers)
	if !w.signal.phase.CompareAndSwap(ticking, asleep) {
		return quit
	}
	if !w.schedule.intake.empty() { // W2
		w.signal.phase.CompareAndSwap(asleep, ticking)
		return goOn
	}
	w.sleeping = true
	return sleep
}

// idle reports whether the worker may retire, once it has slept for a while.
func (w *worker) idle() bool {
	return !w.kept && w.schedule.wheel.Next() == never && len(w.schedule.nextNotices) == 0
}

// retire ends the part of a worker that slept long enough with nothing pending (W8), and
// without an alarm, or its relief would start another. It stays marked as sleeping, so
// that callers catch up for it.
func (w *worker) retire(now int64) bool {
	if w.lags.expected != never || now < w.idleUntil || !w.idle() || !w.signal.phase.CompareAndSwap(asleep, unstarted) {
		return false
	}
	if !w.schedule.intake.empty() && w.signal.phase.CompareAndSwap(unstarted, asleep) { // as W2
		return false
	}
	w.workers.Add(-1)
	return true
}
