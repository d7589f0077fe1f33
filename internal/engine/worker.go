package engine

import (
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine/store"
)

// Ground rules
//
// At every tick the worker drains the intake, collects the due timeouts from the wheel,
// releases mu, and runs the tasks. When no tick is left to process, it drains the rest of
// the intake in rounds, and takes timeouts of the next tick early (schedule.go). Then it
// sleeps: to the next tick while there is traffic, and otherwise to the end of the wheel's
// next occupied tick, or to the earliest of few deadlines there. If the wheel is empty, it
// sleeps for a moment, and retires.
//
//	W1. phase leaves ticking for asleep, or for unstarted if the worker retires, and comes
//	    back. From each of them it goes to stopped, for good. Every change but the last is a
//	    compare-and-swap. Only the holder of mu changes phase to and from unstarted.
//	W2. No lost wake-up: the worker leaves ticking and then looks at the intake once more,
//	    without releasing mu; a caller pushes and then looks at phase. Both are sequentially
//	    consistent, so that at least one of them sees the other. A caller need not wake the
//	    worker for a deadline that the alarm covers. The alarm is stored before phase.
//	W3. One goroutine moves phase from asleep to ticking. If it is a caller, it
//	    leaves a token, unless there is one. A goroutine that finds a token wakes; it
//	    never sleeps on with one.
//	W4. The worker is the goroutine that cleared sleeping, under mu, until it sets
//	    sleeping again. Usually one goroutine sleeps and works in turn. A relief may clear
//	    sleeping in its place (relief.go). A goroutine that wakes while a relief is the
//	    worker sleeps on.
//	W5. A worker without pending timeouts has no alarm, and so no reliefs. Unless Start was
//	    called, its runtime timer goes off linger later. The worker retires if it finds nothing
//	    then. A relief never retires, because another goroutine sleeps, or is about to begin.
//	W6. Once a worker has closed notices, done is closed by the last goroutine that ends, also
//	    of errands. A Stop that finds no goroutine starts a worker.

// worker is the goroutine that advances the wheel and runs due tasks. Guarded by Core.mu,
// unless a field says otherwise.
type worker struct {
	sleeper   atomic.Pointer[sleeper] // nil until the first worker starts. Atomic: written under mu, read by all.
	workers   atomic.Int32            // goroutines that are or were the worker and have not ended. Atomic: increased under mu.
	workerID  atomic.Int64            // the worker's goroutine number. Atomic: written by the worker, read by all.
	quit      chan struct{}           // closed with phase stopped.
	takenOver chan struct{}           // closed once Stop has ended all pending timeouts.
	done      chan struct{}           // closed when the worker and all errands have ended.
	ending    sync.Once               // closes done.

	// The parts that the worker drives. Immutable after New.
	env      *env
	intake   *intake
	mu       *sync.Mutex // Core.mu
	schedule *schedule
	firing   *firing
	errands  errands // runtime timers that call functions, see there.

	sleeping bool         // the worker is asleep or about to be, has retired, or has not begun
	kept     bool         // the worker does not retire, since Start was called
	retireAt int64        // the time from which a worker with nothing pending may retire
	lags     lags         // see there
	wakeups  atomic.Int64 // Atomic: written under mu, read by Stats.
}

func (w *worker) init(env *env, intake *intake, mu *sync.Mutex, schedule *schedule, firing *firing) {
	w.env, w.intake, w.mu, w.schedule, w.firing = env, intake, mu, schedule, firing
	w.quit, w.takenOver, w.done = make(chan struct{}), make(chan struct{}), make(chan struct{})
	w.errands.init(w.checkDone)
	w.sleeping, w.retireAt = true, never
}

// shift is the state of a goroutine that is or may become the worker.
type shift struct {
	id      int64 // of the goroutine; 0 before its identification
	working bool  // it is the worker (W4)
	relief  bool  // the goroutine ends instead of sleeping
}

// work is a worker goroutine. If a task ends the goroutine by runtime.Goexit, a new goroutine
// continues in its place.
func (w *worker) work(g *shift) {
	finished := false
	defer func() {
		if !finished {
			g.id = 0
			go runWorker(w, g)
		}
	}()
	if !g.relief {
		g.identify(w.env)
	}
	if end := w.run(g); end == quit || end == replaced {
		w.sleeper.Load().stop()
		for end == quit && w.takeLateNotices() {
			g.enter(w)
			w.fire()
		}
		w.giveUp()
	}
	finished = true
}

// giveUp gives the worker's place back.
func (w *worker) giveUp() {
	w.workers.Add(-1)
	w.checkDone()
}

// checkDone closes done once notices are closed and no goroutine is left (W6). It is called
// after each change that makes one of these true, so the last caller sees all of them.
func (w *worker) checkDone() {
	if w.schedule.notices.closed.Load() && w.workers.Load() == 0 && w.errands.out.Load() == 0 {
		w.ending.Do(func() { close(w.done) })
	}
}

// identify stores the number of the calling goroutine in g, and labels the goroutine with
// the name of the timer.
func (g *shift) identify(env *env) {
	g.id = goroutineID()
	pprof.SetGoroutineLabels(env.labels)
}

// enter makes g known as the worker before g runs users' code.
func (g *shift) enter(w *worker) {
	if g.id == 0 { // a relief may run none
		g.identify(w.env)
	}
	w.workerID.Store(g.id)
}

// run takes steps, fires and sleeps until the goroutine ends. run returns the reason.
func (w *worker) run(g *shift) action {
	for {
		if g.working && w.firing.running { // a tick's tasks, or the rest after a task ended its goroutine
			g.enter(w)
			w.fire()
		}
		switch next := w.step(g); {
		case next == goOn:
		case next == sleep && !g.relief:
			w.sleep()
		default:
			return next
		}
	}
}

// sleep sleeps. If the alarm goes off and the goroutine then waits for a processor, sleep notes
// the wait, even if a relief has done the work on time (R2).
func (w *worker) sleep() {
	s := w.sleeper.Load()
	if late := s.sleep(w.quit); late > lateWake {
		w.mu.Lock()
		defer w.mu.Unlock()
		s.reliefs.noteLate(w.env.clock.Now())
	}
}

// action is the worker's next move, returned by step.
type action int

const (
	goOn     action = iota // run the tasks, if there are any, and take another step
	sleep                  // sleep until the alarm, or until a caller wakes it
	replaced               // end, since the timer was stopped and another goroutine is the worker
	quit                   // end, since the timer was stopped
	retired                // end, because the timer is idle
)

// step takes mu once: for a tick that has come, or for a round, in which the worker
// drains the rest of the intake and decides to sleep.
func (w *worker) step(g *shift) action {
	w.mu.Lock()
	defer w.mu.Unlock()
	over := w.schedule.wheel == nil || w.intake.phase.Load() == stopped // then due is Stop's (F1)
	now := w.env.clock.Now()
	switch {
	case g.working:
	case over && !w.sleeping:
		return replaced
	case w.sleeping:
		w.wakeUp(now)
		w.workerID.Store(g.id)
		g.working = true
	default: // a relief is the worker, and will set the alarm
		return sleep
	}
	if over {
		return quit
	}
	if now/w.env.tickDur > w.schedule.tick {
		due := w.schedule.advance(now, w.firing.due)
		w.noteLook(now)
		w.beginFiring(due, w.schedule.time())
		return goOn
	}
	next := w.round(now, g.relief)
	if next == sleep || next == retired {
		g.working = false
		if g.relief || next == retired {
			w.workers.Add(-1)
		}
	}
	return next
}

// wakeUp makes the calling goroutine the worker (W4). Guarded by mu.
func (w *worker) wakeUp(now int64) {
	if w.schedule.draining.slept() && w.intake.phase.Load() != stopped { // neither the start nor the end
		w.wakeups.Add(1)
	}
	r := &w.sleeper.Load().reliefs
	r.errands[afterToken].Stop() // it need not come any more
	if now-w.intake.alarm.due() > int64(lateWake) {
		r.noteLate(now)
	}
	w.sleeping = false
	if w.intake.change(asleep, ticking) {
		w.intake.noteEmptied(now)
	}
}

// round drains the rest of the intake after the last tick. If the intake is empty, round
// decides how to sleep.
func (w *worker) round(now int64, relief bool) action {
	if w.schedule.hasWork() {
		w.schedule.drainRest(now)
		w.beginFiring(w.firing.due, w.schedule.time()) // notices, if there are any
		if w.firing.running || !w.schedule.draining.complete {
			return goOn
		}
	}
	if due := w.schedule.collectEarly(now, w.firing.due); len(due) > 0 {
		w.noteLook(now)
		w.beginFiring(due, min(now, forever-1))
		return goOn
	}
	return w.fallAsleep(now, relief)
}

// noteLook records the lateness of a look at the wheel, and the time of the next look.
// Guarded by mu.
func (w *worker) noteLook(now int64) {
	w.lags.note(now, w.intake.alarm.lateness(now)) // 0 if a caller woke the worker earlier
	w.intake.alarm.expect(w.schedule.nextTickAt())
}

// beginFiring hands the notices and due over to fire, for deadlines up to now. Guarded by mu.
func (w *worker) beginFiring(due []*store.Node, now int64) {
	notices := w.schedule.notices.take(w.firing.notices)
	if w.firing.begin(notices, due, now) {
		w.schedule.noteFiring()
	}
}

// fire runs the users' code of this tick, if there is any.
func (w *worker) fire() {
	if w.firing.running {
		w.firing.run()
		w.endFiring()
	}
}

// endFiring releases the lists. Timeouts that were reset since the collection go back to
// the wheel in the same step, so that Stop always finds them in due or in the wheel.
func (w *worker) endFiring() {
	w.mu.Lock()
	defer w.mu.Unlock()
	goOn := w.firing.end()
	switch {
	case w.schedule.wheel == nil: // Stop went through due already
		w.firing.dropDue()
	case w.intake.phase.Load() != stopped: // otherwise Stop will pass through due
		w.schedule.putBack(goOn)
		w.firing.clearDue()
	}
}

// takeLateNotices gives fire the notices that were left when Stop came. Without a notice,
// takeLateNotices returns false, and closes notices.
func (w *worker) takeLateNotices() bool {
	<-w.takenOver // Stop waits for nothing until then
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beginFiring(w.firing.due, w.schedule.time())
	w.schedule.notices.close(!w.firing.running)
	return w.firing.running
}

// start starts a worker if the last one has retired or never was. Guarded by mu.
func (w *worker) start() {
	s := w.sleeper.Load()
	if s == nil {
		s = newSleeper(&w.errands, w.runRelief)
		w.sleeper.Store(s)
	}
	s.reliefs.setForToken() // as if a caller had left one
	w.workers.Add(1)
	go runWorker(w, new(shift))
}

// keep makes the worker stay until Stop. Guarded by mu.
func (w *worker) keep() { w.kept = true }

// isGone reports whether no goroutine is left that could be the worker (W6). Guarded by mu.
func (w *worker) isGone() bool { return w.sleeping && w.workers.Load() == 0 }

// shut lets the worker end.
func (w *worker) shut() {
	w.intake.stop()
	close(w.quit)
}

// runWorker is the function of a worker goroutine. Package hwt documents the name for leak
// checkers, so the name must stay.
//
//go:noinline
func runWorker(w *worker, g *shift) { w.work(g) }

// linger is the time for which a worker without pending timeouts stays. Leak checkers look
// again for some tenths of a second.
const linger = 50 * time.Millisecond

// sleeper is the place where the worker sleeps.
type sleeper struct {
	timer   *time.Timer   // wakes the worker for the alarm. Set under Core.mu.
	token   chan struct{} // holds a token from a caller that woke the worker
	reliefs reliefs       // replace the worker if it is late
}

func newSleeper(errands *errands, runRelief func()) *sleeper {
	s := &sleeper{timer: time.NewTimer(forever), token: make(chan struct{}, 1)}
	s.reliefs.init(errands, runRelief)
	s.stop()
	return s
}

// set sets the alarm to go off at d after now. The alarm takes at least a nanosecond, because
// Go 1.25 hangs in a synctest bubble when a timer with a channel is reset to the present.
func (s *sleeper) set(now int64, d time.Duration) {
	s.timer.Reset(max(d, 1))
	if now < s.reliefs.waryUntil { // (R2)
		s.reliefs.set(d)
	}
}

// stop stops the alarm and the reliefs.
func (s *sleeper) stop() {
	s.timer.Stop()
	for _, e := range s.reliefs.errands {
		e.Stop()
	}
}

// wake wakes the worker, or keeps the worker from falling asleep. wake does not block.
func (s *sleeper) wake() {
	select {
	case s.token <- struct{}{}:
	default: // the token that is there wakes the worker
	}
}

// sleep sleeps until the alarm goes off, a caller wakes the worker, or the timer is
// stopped. sleep returns the lateness after an alarm.
func (s *sleeper) sleep(quit <-chan struct{}) (late time.Duration) {
	select {
	case at := <-s.timer.C:
		return time.Since(at)
	case <-s.token:
	case <-quit:
	}
	return 0
}

// setAlarm has the worker work when the clock reaches at. The alarm covers deadlines from
// covers on. If at is never, there is no alarm, and an idle worker lingers (W5).
func (w *worker) setAlarm(at, covers int64) {
	now := w.env.clock.Now()
	if at == never {
		w.clearAlarm(covers)
		if w.idle() {
			w.retireAt = now + int64(linger)
			w.sleeper.Load().timer.Reset(linger)
		}
		return
	}
	w.retireAt = never
	w.intake.alarm.set(at, covers, at+w.env.onTime)
	w.sleeper.Load().set(now, time.Duration(at-now))
}

// clearAlarm leaves it to callers to wake the worker, or to start the next one.
func (w *worker) clearAlarm(covers int64) {
	w.retireAt = never
	w.intake.alarm.set(never, covers, never)
	w.sleeper.Load().stop()
}

// correctAlarm sets the alarm of a sleeping worker to the wheel's next occupied tick.
func (w *worker) correctAlarm() {
	if w.schedule.wheel == nil || w.intake.phase.Load() != asleep {
		return // the worker or Stop takes care of the wheel
	}
	at, covers := w.schedule.nextLook(w.env.clock.Now())
	a := &w.intake.alarm
	if was := a.covers.Load(); covers > was {
		a.cover(covers)
		if !w.intake.empty() { // a caller may rely on the old alarm: as W2
			a.cover(was)
			return
		}
	}
	a.cover(covers)
	if at != a.at.Load() || at == never { // a worker without pending timeouts lingers again
		w.setAlarm(at, covers)
		if w.intake.phase.Load() == ticking { // a caller woke the worker meanwhile (R3)
			a.assist(w.env.clock.Now() + w.env.onTime)
			w.relieveWoken()
		}
	}
}

// runRelief takes the place of the worker if the worker should have woken. It leaves alone a
// worker that runs tasks, however long they take.
func (w *worker) runRelief() {
	if !w.mu.TryLock() { // the worker is at work, or a caller that leaves it asleep (R1)
		if w.intake.phase.Load() == ticking { // a token has no further relief
			w.relieveWoken()
		}
		return
	}
	if !w.isLate() {
		w.mu.Unlock()
		return
	}
	w.wakeUp(w.env.clock.Now())
	w.workers.Add(1)
	w.mu.Unlock()
	runWorker(w, &shift{working: true, relief: true})
}

// relieveWoken sets the relief of a token, unless the worker may have ended (R3).
func (w *worker) relieveWoken() {
	s := w.sleeper.Load()
	s.reliefs.setForToken()
	if w.intake.phase.Load() == stopped {
		s.stop()
	}
}

// isLate reports whether the worker should not sleep any more. Guarded by mu.
func (w *worker) isLate() bool {
	phase := w.intake.phase.Load()
	return w.sleeping && (phase == ticking || phase == asleep) && w.env.clock.Now() >= w.intake.alarm.due()
}

// fallAsleep decides how to sleep. While there is traffic, the worker comes at every tick
// or earlier, so that no caller has to wake the worker.
func (w *worker) fallAsleep(now int64, relief bool) action {
	at, covers := w.schedule.nextLook(now)
	end := w.schedule.nextTickAt()
	toTick := w.schedule.draining.busy(now, 0) || covers < at && at <= end
	w.schedule.noteSleep(now)
	switch {
	case toTick:
		w.sleeping = true
		w.setAlarm(min(at, end), covers)
		return sleep
	case now >= w.retireAt && w.idle() && !relief: // (W5)
		w.clearAlarm(covers)
		return w.leave(unstarted, retired)
	default:
		w.setAlarm(at, covers)
		return w.leave(asleep, sleep)
	}
}

// leave moves phase from ticking to rest, and returns end if the intake is empty then (W2). A
// worker that retires stays marked as sleeping, so that callers catch up for it.
func (w *worker) leave(rest phase, end action) action {
	if !w.intake.change(ticking, rest) {
		return quit
	}
	if !w.intake.empty() { // W2
		w.intake.change(rest, ticking)
		return goOn
	}
	w.sleeping = true
	return end
}

// idle reports whether the wheel is empty, and the worker may retire.
func (w *worker) idle() bool { return !w.kept && w.schedule.wheel.Next() == never }

// lags are the distances by which the worker was behind. Atomic: written by the holder of
// Core.mu, read by Stats.
type lags struct {
	greatest [intervals]struct{ interval, lag atomic.Int64 }
}

// note records a lag. A reader that finds the new interval also finds the new lag.
func (l *lags) note(now, lag int64) {
	slot := &l.greatest[now/interval%intervals]
	if slot.interval.Load() != now/interval {
		slot.lag.Store(lag)
		slot.interval.Store(now / interval)
	} else if lag > slot.lag.Load() {
		slot.lag.Store(lag)
	}
}

// addTo adds the lags to s. present is the lag at the time now, and 0 after Stop.
func (l *lags) addTo(s *hwt.Stats, now, present int64) {
	s.Lag = max(s.Lag, time.Duration(present))
	s.MaxLag = max(s.MaxLag, s.Lag)
	for i := range l.greatest {
		if slot := &l.greatest[i]; isRecent(slot.interval.Load(), now) {
			s.MaxLag = max(s.MaxLag, time.Duration(slot.lag.Load()))
		}
	}
}
