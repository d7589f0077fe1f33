package engine

import (
	"runtime/pprof"
	"sync"
	"sync/atomic"
)

// Ground rules
//
// At every tick the worker drains the intake, collects the due timeouts from the wheel,
// releases mu, and runs the tasks. When no tick is left to process, it drains the rest of
// the intake in rounds, and takes timeouts of the next tick early (early.go). Then it
// sleeps: to the next tick while there is traffic, and otherwise to the end of the wheel's
// next occupied tick, or to the earliest of few deadlines there. If the wheel is empty, it
// sleeps until a caller wakes it, and retires after a moment.
//
//	W1. phase goes unstarted → ticking ⇄ asleep, from asleep to unstarted again, and
//	    from any of them to stopped, for good. Every change but the last is a
//	    compare-and-swap. The holder of mu makes those between unstarted and another one,
//	    except for the one to stopped.
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
//	    A caller that moves phase to ticking also sets a relief. The holder of mu may be
//	    setting the relief for an alarm at the same time. It then rereads phase and
//	    assistFrom: if the caller has changed them, it sets the relief again. Otherwise
//	    the caller's relief is set last and stays.
//	W7. A caller on the other side of a synctest bubble's border has another clock. It
//	    pushes, and wakes the worker by its token. It moves neither wheel nor alarm,
//	    leaves phase to the worker, and starts none, whose goroutine would be the
//	    bubble's. From outside, it leaves a bubble's token alone, too.
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

	// What the worker drives. Immutable after New.
	timer    *setup
	signal   *signal
	mu       *sync.Mutex // Core.mu
	schedule *schedule
	firing   *firing
	errands  *errands

	sleeping  bool         // the worker is asleep or about to be, has retired, or has not begun
	kept      bool         // the worker does not retire, since Start was called
	waryUntil int64        // the time until which all reliefs are set
	idleUntil int64        // the time from which a sleeping worker with nothing pending may retire
	lags      lags         // see there
	wakeups   atomic.Int64 // Atomic: written under mu, read by Stats.
}

// shift is the state of a goroutine that is or may become the worker.
type shift struct {
	id      int64 // of the goroutine; 0 if it was not identified yet
	working bool  // it is the worker (W6)
	relief  bool  // it ends instead of sleeping
}

// work is a worker goroutine. A task may end it by runtime.Goexit; then another one
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
		g.identify(w.timer)
	}
	if end := w.run(g); end == quit || end == relieved {
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
	if w.schedule.noticesClosed.Load() && w.workers.Load() == 0 && w.errands.out.Load() == 0 {
		w.ending.Do(func() { close(w.done) })
	}
}

// identify stores the number of the calling goroutine in g, and labels the goroutine with
// the name of the timer.
func (g *shift) identify(timer *setup) {
	g.id = goroutineID()
	pprof.SetGoroutineLabels(timer.labels)
}

// enter makes g known as the worker before it runs users' code.
func (g *shift) enter(w *worker) {
	if g.id == 0 { // a relief may run none
		g.identify(w.timer)
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
	relieved               // end, since the timer was stopped and another goroutine is the worker
	quit                   // end, since the timer was stopped
	retired                // end, because the timer is idle
)

// step takes mu once: for a tick that has come, or for a round, in which the worker
// drains the rest of the intake and decides to sleep.
func (w *worker) step(g *shift) action {
	w.mu.Lock()
	defer w.mu.Unlock()
	over := w.schedule.wheel == nil || w.signal.phase.Load() == stopped // then due is Stop's (W5)
	now := w.timer.now()
	switch {
	case g.working:
	case over && !w.sleeping:
		return relieved
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
	if now/w.timer.tickDur > w.schedule.tick {
		w.firing.due = w.schedule.advance(now, w.firing.due)
		w.lags.look(now)
		w.lags.expect((w.schedule.tick + 1) * w.timer.tickDur)
		w.beginFiring(w.schedule.time())
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
	if w.schedule.draining.sleptAt >= 0 && w.signal.phase.Load() != stopped { // neither the start nor the end
		w.wakeups.Add(1)
	}
	if now-min(w.lags.expected, w.signal.assistFrom.Load()) > int64(lateWake) {
		w.waryUntil = now + int64(wary)
	}
	w.sleeping = false
	if w.signal.phase.CompareAndSwap(asleep, ticking) {
		w.signal.emptied.Store(now)
	}
}

// round drains the rest of the intake after the last tick. If the intake is empty, it
// decides how to sleep.
func (w *worker) round(now int64) action {
	if d := &w.schedule.draining; d.stale || !d.complete || len(w.schedule.nextNotices) > 0 {
		w.schedule.drain(min((w.schedule.tick+1)*w.timer.tickDur, now+int64(maxHold)))
		w.schedule.noteEmptied(now)
		w.beginFiring(w.schedule.time()) // notices, if there are any
		if w.firing.running || !d.complete {
			return goOn
		}
	}
	w.firing.due = w.schedule.collectEarly(now, w.firing.due)
	if len(w.firing.due) > 0 {
		w.lags.look(now)
		w.lags.expect((w.schedule.tick + 1) * w.timer.tickDur)
		w.beginFiring(min(now, forever-1))
		return goOn
	}
	return w.fallAsleep(now)
}

// beginFiring hands the notices and due over to fire, for deadlines up to now. Guarded by mu.
func (w *worker) beginFiring(now int64) {
	w.firing.notices, w.schedule.nextNotices = w.schedule.nextNotices, w.firing.notices
	if w.firing.begin(now) {
		w.schedule.draining.fired, w.schedule.draining.stale = true, true
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
		w.firing.due = nil
	case w.signal.phase.Load() != stopped: // otherwise Stop will pass through due
		w.schedule.putBack(goOn)
		w.firing.due = emptied(w.firing.due)
	}
}

// takeLateNotices gives fire the notices that were left when Stop came. It returns
// false if there are none; from then on none may be left to the worker.
func (w *worker) takeLateNotices() bool {
	<-w.takenOver // Stop waits for nothing until then
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beginFiring(w.schedule.time())
	w.schedule.noticesClosed.Store(!w.firing.running)
	return w.firing.running
}

// shut lets the worker end.
func (w *worker) shut() {
	w.signal.phase.Store(stopped)
	close(w.quit)
}

// runWorker is the function of a worker goroutine. Package hwt documents its name for
// leak checkers, so it must stay.
//
//go:noinline
func runWorker(w *worker, g *shift) { w.work(g) }
