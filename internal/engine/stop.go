package engine

import (
	"runtime"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/mpsc"
)

// Stop implements hwt.Timer.
func (h *Handle) Stop() []hwt.Timeout {
	unprocessed, ok := h.halt()
	h.release() // not if halt panics
	if ok {
		h.workers.awaitEnd()
	}
	return unprocessed
}

// Ended returns a channel that is closed when the timer stops.
func (h *Handle) Ended() <-chan struct{} { return h.workers[0].core.worker.takenOver }

// halt closes the intakes, takes the wheels over from the workers, which end, and ends
// the pending timeouts. It returns false if the caller must not wait, because the timer
// is a bubble's.
func (h *Handle) halt() (unprocessed []hwt.Timeout, ok bool) {
	if s := h.workers.setup(); s.clock.Foreign() { // the channels are its bubble's
		if !h.stopping.Load() {
			s.clock.Check(s.now())
		}
		return nil, false
	}
	if h.stopping.CompareAndSwap(false, true) {
		unprocessed = h.takeAll()
	}
	for i := range h.workers {
		<-h.workers[i].core.worker.takenOver // another Stop may be doing it, which waits for no users' code
	}
	return unprocessed, true
}

// takeAll ends every pending timeout.
func (h *Handle) takeAll() []hwt.Timeout {
	live.Add(-1)
	for i := range h.workers {
		h.workers[i].core.worker.shut()
	}
	h.close()
	unprocessed := make([]hwt.Timeout, 0, h.Pending())
	for i := range h.workers {
		c := h.workers[i].core
		unprocessed = c.takeAll(unprocessed)
		close(c.worker.takenOver)
	}
	return unprocessed
}

// takeAll ends every pending timeout of this worker and appends it to unprocessed.
// The worker may be in the middle of users' code meanwhile; it will find no wheel,
// and nothing left in due.
func (c *Core) takeAll(unprocessed []hwt.Timeout) []hwt.Timeout {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.schedule.takeIntake(); c.intake.backlog() > 0; c.schedule.takeIntake() { // (E3)
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	before := len(unprocessed)
	end := func(t *Timeout) {
		if t.node.IsAt(endedByStop) {
			return // an Arm has begun another life, and will end it (E4)
		}
		if _, ok := t.state.cancel(); ok {
			t.node.MoveTo(endedByStop)
			unprocessed = append(unprocessed, t.handle())
		}
	}
	for _, t := range c.schedule.orphans {
		if end(t); !t.node.IsAt(endedByStop) && t.state.load().IsCancelled() && t.wantsNotice() {
			c.schedule.nextNotices = append(c.schedule.nextNotices, t) // its Cancel left it to the worker
		}
	}
	c.schedule.orphans = nil
	for n := range c.schedule.wheel.Held().All {
		end(timeoutOf(n))
	}
	c.schedule.wheel = nil
	for _, n := range c.firing.due {
		end(timeoutOf(n))
	}
	if !c.firing.running {
		c.firing.due = nil
	}
	ended := int64(len(unprocessed) - before)
	c.schedule.unprocessed.Add(ended)
	c.timer.limit.Give(ended)
	if w := &c.worker; w.sleeping && w.workers.Load() == 0 { // no goroutine is left to be the worker (W8)
		c.startWorker() // only to give the notices that are left, and to close done
	}
	return unprocessed
}

// takeIntake makes all timeouts of the intake orphans. Guarded by mu.
func (s *schedule) takeIntake() {
	for i := range s.intake.stripes {
		from := &s.intake.stripes[i]
		for _, q := range []*mpsc.Queue[Timeout]{&from.added, &from.changed} {
			for t := q.Pop(); t != nil; t = q.Pop() {
				s.took(from, 1)
				s.orphans = append(s.orphans, t)
			}
		}
	}
}

// awaitEnd waits until the workers have ended, unless this is one of them: two that
// stop the timer would wait for each other. The time is limited, since a worker may
// be in users' code that never returns or that waits for this very call. A bubble has
// no clock that limits a wait for workers outside it, so there awaitEnd does not wait.
func (g group) awaitEnd() {
	s := g.setup()
	if s.isWorker(goroutineID()) {
		return
	}
	if s.wait <= 0 || s.clock.Apart() {
		s.runner.EndContexts()
		return
	}
	patience := time.NewTimer(s.wait)
	defer patience.Stop()
	for i := range g {
		select {
		case <-g[i].core.worker.done:
		case <-patience.C:
			s.runner.EndContexts()
			s.runner.Warn("hwt: Stop gave up waiting for a task that occupies the timer's worker", enginekit.AttrWaited, s.wait)
			return
		}
	}
}
