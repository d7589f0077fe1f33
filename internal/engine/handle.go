package engine

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cacheline"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/leak"
)

// Handle is the users' side of a timer. An engine's Timer holds one by value and
// forwards its methods to it.
type Handle struct {
	workers  []home          // Immutable after Init.
	outer    hwt.Timer       // the engine's Timer that this is part of. Immutable after Init.
	tracker  *leak.Tracker   // of outer, nil if it is not tracked. Immutable after Init.
	cleanup  runtime.Cleanup // abandons the cores. Immutable after Init.
	stopping atomic.Bool     // Stop was called. Atomic: set by the first Stop.
	closed   atomic.Bool     // all intakes are closed. Atomic: set by close.
}

// home is a worker as its timeouts know it: its core, and the handle, to which the core
// must not refer.
type home struct {
	core   *Core
	handle *Handle
}

// Init makes h the inside of outer. Once outer is garbage, its workers end.
func (h *Handle) Init(outer hwt.Timer, cfg Config) {
	h.workers, h.outer, h.tracker = make([]home, cfg.Workers), outer, cfg.Tracker
	cores, setup := make([]*Core, cfg.Workers), newSetup(cfg)
	for i := range cores {
		cores[i] = newCore(setup, cfg)
		h.workers[i] = home{cores[i], h}
	}
	cfg.Runner.Given = func() int64 { return given(cores) }
	countInstance(cfg.Runner.Warn)
	h.cleanup = runtime.AddCleanup(h, abandon, cores)
}

// setup returns the configuration of the timer.
func (h *Handle) setup() *setup { return &h.workers[0].core.timer }

// workerOf returns the worker for a new timeout. It is a function of the timeout's
// address, so that timeouts are spread evenly, whichever processor makes them, and
// callers share no counter.
func (h *Handle) workerOf(t *Timeout) *home {
	if n := len(h.workers); n > 1 {
		return &h.workers[cacheline.Share(numberOf(t), n)]
	}
	return &h.workers[0]
}

// NewTimeout implements hwt.Timer.
func (h *Handle) NewTimeout(tt hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	if enginekit.IsNilTask(tt) {
		return nil, hwt.ErrNilTask
	}
	if h.tracker.Detailed() {
		h.tracker.Record("NewTimeout")
	}
	setup := h.setup()
	deadline := setup.deadline(delay) // before anything is counted, because it may panic
	if setup.limit.Max() > 0 {
		if err := h.reserve(1); err != nil {
			return nil, err
		}
	}
	return h.schedule(setup.newTimeout(deadline, tt, setup.callers.Caller()), deadline)
}

// schedule pushes t to the worker for it.
func (h *Handle) schedule(t *Timeout, deadline int64) (hwt.Timeout, error) {
	t.home = h.workerOf(t)
	c := t.home.core
	s := c.intake.of(t)
	n := s.accepted.Add(1)
	if !s.added.Push(t) {
		s.accepted.Add(-1)
		c.timer.limit.Give(1)
		h.close()
		return nil, hwt.ErrStopped
	}
	c.attend(s, deadline)
	c.pace(s, n)
	return t, nil
}

// AfterFunc schedules f; see the engines.
func (h *Handle) AfterFunc(delay time.Duration, f func()) (hwt.Timeout, error) {
	return h.NewTimeout(enginekit.Func(f), delay)
}

// Start starts the workers, which then stay until Stop.
func (h *Handle) Start() {
	h.setup().clock.CheckSide() // a worker belongs to the side that starts it
	for i := range h.workers {
		h.workers[i].core.keepWorker()
	}
	// There is no pending timeout that keeps h alive, as in NewTimeout. Otherwise
	// abandon could find a worker unstarted, and leave behind the goroutine that
	// wakeWorker starts.
	runtime.KeepAlive(h)
}

// Stop implements hwt.Timer.
func (h *Handle) Stop() []hwt.Timeout {
	defer h.release()
	return h.stop()
}

// release cancels the cleanup and the leak report of a timer that is collected without
// Stop.
func (h *Handle) release() {
	h.cleanup.Stop() // it keeps the cores alive, and all that the user's code there refers to
	h.tracker.CloseFor(h)
}

// Pending returns how many timeouts have not ended.
func (h *Handle) Pending() (n int64) {
	for i := range h.workers {
		n += h.workers[i].core.pending()
	}
	return n
}

// Stats returns a snapshot.
func (h *Handle) Stats() hwt.Stats {
	var s hwt.Stats
	for i := range h.workers {
		h.workers[i].core.addTo(&s)
	}
	s.Pending = s.Accepted - s.Cancelled - s.Expired - s.Unprocessed
	setup := h.setup()
	s.Rejected = setup.limit.Rejected()
	setup.runner.AddTo(&s)
	return s
}
