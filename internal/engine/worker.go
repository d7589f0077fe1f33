package engine

import (
	"math"
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
// sleeps until a caller wakes it, and retires after a moment.
//
//	W1. phase goes unstarted → ticking ⇄ asleep, from asleep to unstarted again, and from any of
//	    them to stopped, for good. Every change but the last is a compare-and-swap. The holder
//	    of mu makes the changes to and from unstarted, except for the change to stopped.
//	W2. No lost wake-up: the worker enters asleep and then looks at the intake once more,
//	    without releasing mu; a caller pushes and then looks at phase. Both are sequentially
//	    consistent, so that at least one of them sees the other. A caller need not wake the
//	    worker for a deadline that the alarm covers. The alarm is stored before the worker
//	    enters asleep.
//	W3. One goroutine moves phase from asleep to ticking. If it is a caller, it
//	    leaves a token, unless there is one. A goroutine that finds a token wakes; it
//	    never sleeps on with one.
//	W4. The wheel and the consumer's side of the intake belong to the holder of
//	    mu: the worker, a caller that assists it (core.go), or Stop. The worker
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
//	    A caller that moves phase to ticking also sets a relief. The holder of mu may be
//	    setting the relief for an alarm at the same time. It then rereads phase and
//	    assistFrom: if the caller has changed them, it sets the relief again. Otherwise
//	    the caller's relief is set last and stays.
//	W7. A caller on the other side of a synctest bubble's border has another clock. It pushes,
//	    and wakes the worker by its token. It moves neither wheel nor alarm, and leaves phase to
//	    the worker. It starts no worker, because the goroutine would belong to the bubble. A
//	    caller from outside leaves a bubble's token alone, too.
//	W8. A worker retires, unless Start was called, when it has slept for linger with
//	    nothing pending: under mu it moves phase from asleep to unstarted, looks at the
//	    intake once more as in W2, and gives its place in workers back. The next one has
//	    its sleeper. A Stop that comes between starts another worker. Once a worker has
//	    closed notices, done is closed by the last goroutine that ends, also of errands. A
//	    worker that ends stops the reliefs. Who sets one without mu looks at phase
//	    afterwards, and stops it if the worker may have ended.

// worker is the goroutine that advances the wheel and runs due tasks. Guarded by Core.mu,
// unless a field says otherwise.
type worker struct {
	sleeper   atomic.Pointer[sleeper] // nil until the first worker starts. Atomic: written under mu, read by all.
	workers   atomic.Int32            // goroutines that are or were the worker and have not ended. Atomic: increased under mu.
	workerID  atomic.Int64            // the worker's goroutine number. Atomic: written by the worker, read by all.
	quit      chan struct{}           // closed with phase stopped.
	takenOver chan struct{}           // closed once Stop has ended all pending timeouts.
	done      chan struct{}           // closed when the worker and its errands have ended.
	ending    sync.Once               // closes done.

	// The parts that the worker drives. Immutable after New.
	env      *env
	intake   *intake
	mu       *sync.Mutex // Core.mu
	schedule *schedule
	firing   *firing
	errands  errands // runtime timers that call functions, see there.

	sleeping  bool         // the worker is asleep or about to be, has retired, or has not begun
	kept      bool         // the worker does not retire, since Start was called
	waryUntil int64        // the time until which all reliefs are set
	idleUntil int64        // the time from which a sleeping worker with nothing pending may retire
	lags      lags         // see there
	wakeups   atomic.Int64 // Atomic: written under mu, read by Stats.
}

func (w *worker) init(env *env, intake *intake, mu *sync.Mutex, schedule *schedule, firing *firing) {
	w.env, w.intake, w.mu, w.schedule, w.firing = env, intake, mu, schedule, firing
	w.quit, w.takenOver, w.done = make(chan struct{}), make(chan struct{}), make(chan struct{})
	w.errands.none = w.checkDone
	w.sleeping = true
}

// shift is the state of a goroutine that is or may become the worker.
type shift struct {
	id      int64 // of the goroutine; 0 if it was not identified yet
	working bool  // it is the worker (W6)
	relief  bool  // it ends instead of sleeping
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
		w.leave()
	}
	finished = true
}

// leave gives the worker's place back.
func (w *worker) leave() {
	w.workers.Add(-1)
	w.checkDone()
}

// checkDone closes done once notices are closed and no goroutine is left (W8). It is called
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

// enter makes g known as the worker before it runs users' code.
func (g *shift) enter(w *worker) {
	if g.id == 0 { // a relief may run none
		g.identify(w.env)
	}
	w.workerID.Store(g.id)
}

// run takes steps, fires and sleeps until the goroutine ends. It returns the reason.
func (w *worker) run(g *shift) action {
	for {
		if g.working && w.firing.running { // a tick's tasks, or the rest after one ended its goroutine
			g.enter(w)
			w.fire()
		}
		switch next := w.step(g); {
		case next == goOn:
		case next == sleep && !g.relief:
			w.sleeper.Load().sleep(w.quit)
		default:
			return next
		}
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
	over := w.schedule.wheel == nil || w.intake.phase.Load() == stopped // then due is Stop's (W5)
	now := w.env.clock.Now()
	switch {
	case g.working:
	case over && !w.sleeping:
		return replaced
	case w.sleeping:
		if !over && w.retire(now) {
			return retired
		}
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
	next := w.round(now)
	if next == sleep {
		g.working = false
		if g.relief {
			w.workers.Add(-1)
		}
	}
	return next
}

// wakeUp makes the calling goroutine the worker (W6). Guarded by mu.
func (w *worker) wakeUp(now int64) {
	if w.schedule.draining.slept() && w.intake.phase.Load() != stopped { // neither the start nor the end
		w.wakeups.Add(1)
	}
	if now-w.intake.alarm.due() > int64(lateWake) {
		w.waryUntil = now + int64(wary)
	}
	w.sleeping = false
	if w.intake.change(asleep, ticking) {
		w.intake.noteEmptied(now)
	}
}

// round drains the rest of the intake after the last tick. If the intake is empty, it
// decides how to sleep.
func (w *worker) round(now int64) action {
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
	return w.fallAsleep(now)
}

// noteLook records how late the worker looks at the wheel, and when it will look again.
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

// endFiring releases the lists. Timeouts that were reset since they were collected go
// back to the wheel in the same step, so that Stop always finds them in due or in the
// wheel.
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

// takeLateNotices gives fire the notices that were left when Stop came. If no notice is left,
// it returns false, and closes notices.
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
	s.setRelief(standby, 0)
	w.workers.Add(1)
	go runWorker(w, new(shift))
}

// keep makes the worker stay until Stop. Guarded by mu.
func (w *worker) keep() { w.kept = true }

// isGone reports whether no goroutine is left that could be the worker (W8). Guarded by mu.
func (w *worker) isGone() bool { return w.sleeping && w.workers.Load() == 0 }

// shut lets the worker end.
func (w *worker) shut() {
	w.intake.stop()
	close(w.quit)
}

// runWorker is the function of a worker goroutine. Package hwt documents its name for
// leak checkers, so it must stay.
//
//go:noinline
func runWorker(w *worker, g *shift) { w.work(g) }

// linger is the time for which an idle worker stays. Leak checkers look again for some
// tenths of a second.
const linger = 50 * time.Millisecond

// sleeper is the place where the worker sleeps.
type sleeper struct {
	timer   *time.Timer              // wakes the worker for the alarm. Set under Core.mu.
	reliefs [len(reliefAfter)]errand // replace the worker if it is late (W6)
	token   chan struct{}            // holds a token from a caller that woke the worker
}

// reliefAfter is the lateness of the worker at which each relief comes. Several are
// needed, because a relief itself may have to wait for a processor.
var reliefAfter = [...]time.Duration{0, maxOnTime, 2 * maxOnTime, 4 * maxOnTime, 8 * maxOnTime}

const (
	// standby is the relief that is always set. A timer of a quiet process is up to a
	// millisecond late itself: an earlier relief would often come beside the worker.
	standby = 2

	// The other reliefs are set for the time wary after the worker was late by more
	// than lateWake. A machine that is not saturated does not pay for them.
	lateWake = 4 * time.Millisecond
	wary     = 10 * time.Second
)

func newSleeper(errands *errands, runRelief func()) *sleeper {
	s := &sleeper{timer: time.NewTimer(forever), token: make(chan struct{}, 1)}
	for i := range s.reliefs {
		s.reliefs[i] = errands.make(runRelief)
	}
	s.stop()
	return s
}

// set sets the alarm to go off after d, and all reliefs or only the standby. The alarm
// takes at least a nanosecond, because Go 1.25 hangs in a synctest bubble when a timer
// with a channel is reset to the present.
func (s *sleeper) set(d time.Duration, all bool) {
	s.timer.Reset(max(d, 1))
	if !all {
		s.setRelief(standby, d)
		return
	}
	for i := range s.reliefs {
		s.setRelief(i, d)
	}
}

// setRelief sets a relief for an alarm after d. d may be the longest duration.
func (s *sleeper) setRelief(i int, d time.Duration) {
	s.reliefs[i].Reset(min(d, math.MaxInt64-reliefAfter[i]) + reliefAfter[i])
}

// stop stops the alarm and the reliefs.
func (s *sleeper) stop() {
	s.timer.Stop()
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
	case <-s.timer.C:
	case <-s.token:
	case <-quit:
	}
}

// setAlarm has the worker work when the clock reaches at. The alarm covers deadlines from
// covers on. If at is never, only a caller wakes the worker.
func (w *worker) setAlarm(at, covers int64) {
	if at == never {
		w.intake.alarm.set(never, covers, never)
		w.sleeper.Load().stop()
		if w.idle() {
			w.idleUntil = w.env.clock.Now() + int64(linger)
			w.sleeper.Load().timer.Reset(linger)
		}
		return
	}
	w.intake.alarm.set(at, covers, at+w.env.onTime)
	now := w.env.clock.Now()
	w.sleeper.Load().set(time.Duration(at-now), now < w.waryUntil)
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
		if !w.intake.empty() { // its caller may rely on the alarm as it was: as W2
			a.cover(was)
			return
		}
	}
	a.cover(covers)
	if at != a.at.Load() || at == never { // a worker with nothing pending lingers again
		w.setAlarm(at, covers)
		if w.intake.phase.Load() == ticking { // a caller woke the worker meanwhile (W6)
			a.assist(w.env.clock.Now() + w.env.onTime)
			w.setStandbyNow()
		}
	}
}

// runRelief takes the place of a worker that should have woken but did not get to run,
// because it waits its turn behind many goroutines. The scheduler often runs this
// goroutine next, because it was just created. It leaves alone a worker that runs tasks,
// however long they take.
func (w *worker) runRelief() {
	if !w.mu.TryLock() { // the worker is at work, or a caller that leaves it asleep
		w.setStandbyNow() // the reliefs may have been set for a later alarm
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

// setStandbyNow sets the standby relief for the present, unless the worker may have ended.
func (w *worker) setStandbyNow() {
	s := w.sleeper.Load()
	s.setRelief(standby, 0)
	if w.intake.phase.Load() == stopped { // (W8)
		s.stop()
	}
}

// isLate reports whether the sleeping worker is late. If it is not, the standby comes when it
// is (W6). Guarded by mu.
func (w *worker) isLate() bool {
	if phase := w.intake.phase.Load(); !w.sleeping || phase == unstarted || phase == stopped {
		return false
	}
	now := w.env.clock.Now()
	set := int64(never)
	for {
		at := w.intake.alarm.due()
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
	at, covers := w.schedule.nextLook(now)
	end := w.schedule.nextTickAt()
	toTick := w.schedule.draining.busy(now, 0) || covers < at && at <= end
	w.schedule.noteSleep(now)
	if toTick {
		w.sleeping = true
		w.setAlarm(min(at, end), covers)
		return sleep
	}
	w.setAlarm(at, covers)
	if !w.intake.change(ticking, asleep) {
		return quit
	}
	if !w.intake.empty() { // W2
		w.intake.change(asleep, ticking)
		return goOn
	}
	w.sleeping = true
	return sleep
}

// idle reports whether the worker may retire, once it has slept for a while.
func (w *worker) idle() bool {
	return !w.kept && w.schedule.wheel.Next() == never && len(w.schedule.notices.next) == 0
}

// retire ends the part of a worker that slept long enough with nothing pending (W8), and
// without an alarm, or its relief would start another. It stays marked as sleeping, so
// that callers catch up for it.
func (w *worker) retire(now int64) bool {
	if w.intake.alarm.at.Load() != never || now < w.idleUntil || !w.idle() || !w.intake.change(asleep, unstarted) {
		return false
	}
	if !w.intake.empty() && w.intake.change(unstarted, asleep) { // as W2
		return false
	}
	w.workers.Add(-1)
	return true
}

// errands are the runtime timers of a worker that call functions. On a busy machine, the
// goroutine of such a call may begin long after its time. Stop waits for it: see
// worker.checkDone.
type errands struct {
	out  atomic.Int64 // errands that are set, and calls that have not ended. Atomic: written by all.
	none func()       // called when out becomes 0. Immutable after New.
}

// errand is a runtime timer that calls a function when it is due.
type errand struct {
	timer *time.Timer
	all   *errands
}

// make returns an errand that is not set.
func (a *errands) make(f func()) errand {
	timer := time.AfterFunc(forever, func() {
		defer a.end()
		f()
	})
	timer.Stop()
	return errand{timer, a}
}

// end counts an errand that is no longer set, or a call that has ended.
func (a *errands) end() {
	if a.out.Add(-1) == 0 {
		a.none()
	}
}

// Reset sets the errand to d from now. If it was set already, it is due once.
func (e errand) Reset(d time.Duration) {
	e.all.out.Add(1) // first, since it may be due immediately
	if e.timer.Reset(d) {
		e.all.end()
	}
}

// Stop makes sure that the errand is not set. It reports whether it was.
func (e errand) Stop() bool {
	was := e.timer.Stop()
	if was {
		e.all.end()
	}
	return was
}

// lags are the distances by which the worker was behind. Atomic: written by the holder of
// Core.mu, read by Stats.
type lags struct {
	greatest [intervals]struct{ interval, lag atomic.Int64 }
}

// note records a lag. A reader that finds the new interval finds its lag, too.
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
