package engine

import (
	"runtime"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
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

// halt closes the intakes, takes the wheels over from the workers, lets the workers end, and
// ends the pending timeouts. halt returns false if the caller must not wait, because the timer
// is a bubble's.
func (h *Handle) halt() (unprocessed []hwt.Timeout, ok bool) {
	if clock := h.workers.env().clock; clock.Foreign() { // the channels belong to the timer's bubble
		if !h.stopping.Load() {
			clock.CheckSide()
		}
		return nil, false
	}
	if h.beginStop() {
		unprocessed = h.takeAll()
	}
	for i := range h.workers {
		<-h.workers[i].core.worker.takenOver // another Stop may be taking over, without a wait for users' code
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

// takeAll ends every pending timeout of this worker and appends it to unprocessed. The worker
// may be running users' code at the same time. Afterwards the worker finds no wheel, and no
// pending timeout in due.
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
			return // an Arm has begun another life, and will end that life (E4)
		}
		if _, ok := t.state.cancel(); ok {
			t.node.MoveTo(endedByStop)
			unprocessed = append(unprocessed, t.handle())
		}
	}
	c.schedule.endAll(end)
	for _, n := range c.firing.due {
		end(timeoutOf(n))
	}
	c.firing.dropDue()
	ended := len(unprocessed) - before
	c.schedule.countUnprocessed(ended)
	c.env.limit.Give(int64(ended))
	if c.worker.isGone() {
		c.worker.start() // only to give the notices that are left, and to close done
	}
	return unprocessed
}

// awaitEnd waits until the workers have ended, unless the caller is a worker: two workers
// that stop the timer would wait for each other. The time is limited, since a worker may be
// in users' code that never returns or that waits for this very call. A bubble has no clock
// to limit a wait for workers outside, so there awaitEnd does not wait.
func (g group) awaitEnd() {
	e := g.env()
	if e.isWorker(goroutineID()) {
		return
	}
	if e.wait <= 0 || e.clock.Apart() {
		e.runner.EndContexts()
		return
	}
	patience := time.NewTimer(e.wait)
	defer patience.Stop()
	for i := range g {
		select {
		case <-g[i].core.worker.done:
		case <-patience.C:
			e.runner.EndContexts()
			e.runner.Warn("hwt: Stop gave up waiting for a task that occupies the timer's worker", enginekit.AttrWaited, e.wait)
			return
		}
	}
}
