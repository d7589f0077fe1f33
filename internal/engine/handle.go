package engine

import (
	"runtime"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/task"
	"github.com/hashedwheel/hwt/leak"
)

// Handle is the timer as its users hold it. An engine's Timer embeds one by
// value and passes its own methods on.
type Handle struct {
	core    *Core           // Immutable after Init.
	outer   hwt.Timer       // the engine's Timer that this is part of. Immutable after Init.
	tracker *leak.Tracker   // of outer, nil if it is not tracked. Immutable after Init.
	cleanup runtime.Cleanup // abandons core. Immutable after Init.
}

// Init makes h ready to be the insides of outer. Once nobody refers to outer any
// more its worker ends.
func (h *Handle) Init(outer hwt.Timer, cfg Config) {
	h.core, h.outer, h.tracker = newCore(cfg), outer, cfg.Tracker
	countInstance(cfg.Runner.Warn)
	h.cleanup = runtime.AddCleanup(h, (*Core).abandon, h.core)
}

// NewTimeout implements hwt.Timer.
func (h *Handle) NewTimeout(what hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	if task.IsNil(what) {
		return nil, hwt.ErrNilTask
	}
	if h.tracker.Detailed() {
		h.tracker.Record("NewTimeout")
	}
	c := h.core
	if c.limit > 0 {
		if err := c.reserve(); err != nil {
			return nil, err
		}
	}
	t := &Timeout{life: newLife(c.deadline(delay)), handle: h, task: what}
	s := c.intake.of(t)
	s.accepted.Add(1)
	if !s.added.Push(t) {
		s.accepted.Add(-1)
		c.release(1)
		return nil, hwt.ErrStopped
	}
	if c.phase.Load() != ticking {
		c.rouse()
	}
	return t, nil
}

// AfterFunc schedules f; see the engines.
func (h *Handle) AfterFunc(delay time.Duration, f func()) (hwt.Timeout, error) {
	return h.NewTimeout(task.Func(f), delay)
}

// Start starts the worker if it has not started.
func (h *Handle) Start() {
	if h.core.phase.Load() == unstarted {
		h.core.rouse()
	}
	// Nothing pending holds h, as in NewTimeout: abandon must not find the timer
	// unstarted, and leave alone the worker that rouse then starts.
	runtime.KeepAlive(h)
}

// Stop implements hwt.Timer.
func (h *Handle) Stop() []hwt.Timeout {
	unprocessed := h.core.stop()
	h.cleanup.Stop() // it holds the core, and so all that the user's code there refers to
	h.tracker.CloseFor(h)
	return unprocessed
}

// Pending returns how many timeouts have not ended.
func (h *Handle) Pending() int64 { return h.core.pending() }

// Stats returns a snapshot.
func (h *Handle) Stats() hwt.Stats { return h.core.stats() }
