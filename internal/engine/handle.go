package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cacheline"
	"github.com/hashedwheel/hwt/internal/embedded"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/leak"
)

// Handle is the users' side of a timer. An engine's Timer holds a Handle by value and
// forwards methods to the Handle.
type Handle struct {
	workers  group           // Immutable after Init.
	tracker  *leak.Tracker   // nil if the timer is not tracked. Immutable after Init.
	detailed bool            // the tracker records calls. Immutable after Init.
	cleanup  runtime.Cleanup // abandons the cores. Immutable after Init.
	stopping atomic.Bool     // Stop was called. Atomic: set by the first Stop.
	closed   atomic.Bool     // all intakes are closed. Atomic: set by close.
	batching sync.RWMutex    // held for reading while a batch is pushed to several workers, and by close (S5).
}

// Init makes h the inside of outer. Once outer is garbage, the workers end.
func (h *Handle) Init(outer hwt.Timer, cfg Config) {
	h.workers, h.tracker, h.detailed = make(group, cfg.Workers), cfg.Tracker, cfg.Tracker.Detailed()
	cores, env := make([]*Core, cfg.Workers), newEnv(cfg)
	for i := range cores {
		cores[i] = newCore(env, cfg)
		env.addWorker(i, &cores[i].worker.workerID)
		h.workers[i] = home{core: cores[i], env: &cores[i].env, outer: outer, group: h.workers}
		h.workers[i].Host = &h.workers[i]
	}
	cfg.Runner.Submitted = func() int64 { return submitted(cores) }
	countInstance(cfg.Runner.Warn)
	h.cleanup = runtime.AddCleanup(h, abandon, cores)
}

// NewTimeout implements hwt.Timer.
func (h *Handle) NewTimeout(tt hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	if enginekit.IsNilTask(tt) {
		return nil, hwt.ErrNilTask
	}
	if h.detailed {
		h.tracker.Record("NewTimeout")
	}
	env := h.workers.env()
	deadline := env.clock.Deadline(delay) // before anything is counted, because Deadline may panic
	if env.limit.Max() > 0 {
		if err := h.reserve(1); err != nil {
			return nil, err
		}
	}
	caller := uintptr(0)
	if env.callers {
		caller = env.callers.Caller()
	}
	return h.schedule(env.newTimeout(deadline, tt, caller), deadline)
}

// schedule pushes t to its worker.
func (h *Handle) schedule(t *Timeout, deadline int64) (hwt.Timeout, error) {
	t.assign(h.workers.of(t))
	c := t.home.core
	s := c.intake.of(t)
	n := s.countNew()
	if !s.added.Push(t) {
		s.uncountNew()
		c.env.limit.Give(1)
		h.close()
		return nil, hwt.ErrStopped
	}
	c.ensureDrained(s, deadline)
	c.assistAt(s, n, true)
	return t, nil
}

// reserve takes places for n new timeouts of a timer with a pending limit.
func (h *Handle) reserve(n int64) error {
	if h.stopping.Load() {
		return hwt.ErrStopped
	}
	return h.workers.reserve(n)
}

// AfterFunc schedules f; see the engines.
func (h *Handle) AfterFunc(delay time.Duration, f func()) (hwt.Timeout, error) {
	return h.NewTimeout(enginekit.Func(f), delay)
}

// Start starts the workers and keeps the workers until Stop.
func (h *Handle) Start() {
	h.workers.env().clock.CheckSide() // a worker belongs to the side that starts it
	for i := range h.workers {
		h.workers[i].core.keepWorker()
	}
	// There is no pending timeout that keeps h alive, as in NewTimeout. Otherwise
	// abandon could find a worker unstarted, and leave behind the goroutine that
	// wakeWorker starts.
	runtime.KeepAlive(h)
}

// beginStop returns true for the first call of Stop.
func (h *Handle) beginStop() bool { return h.stopping.CompareAndSwap(false, true) }

// close closes all intakes (S3), between batches (S5). A caller that failed to push closes
// the intakes, too, since Stop may have closed only some of the queues so far.
func (h *Handle) close() {
	if h.closed.Load() {
		return
	}
	h.batching.Lock()
	defer h.batching.Unlock()
	h.workers.close()
	h.closed.Store(true)
}

// release cancels the cleanup and the leak report of a timer that is collected without
// Stop.
func (h *Handle) release() {
	h.cleanup.Stop() // the cleanup keeps the cores alive, and all that the user's code there refers to
	h.tracker.CloseFor(h)
}

// Pending returns the number of pending timeouts.
func (h *Handle) Pending() int64 {
	h.workers.env()
	return h.workers.pending()
}

// Stats returns a snapshot.
func (h *Handle) Stats() hwt.Stats {
	var s hwt.Stats
	for i := range h.workers {
		h.workers[i].core.addTo(&s)
	}
	h.workers.addCounts(&s)
	env := h.workers.env()
	s.Rejected = env.limit.Rejected()
	env.runner.AddTo(&s)
	return s
}

// group is the workers of a timer, at least one. Immutable after Init.
type group []home

// home is a worker as timeouts know it: the core, and the objects to which the core must
// not refer.
type home struct {
	embedded.Home[hwt.Event, hwt.Timeout] // First: events refer to it.

	core  *Core
	env   *env      // of core
	outer hwt.Timer // the engine's Timer, which holds the Handle
	group group     // all workers of the timer
}

// pushCancelled accounts for a timeout that Cancel ended, and makes the worker drop the
// timeout. was is the word that Cancel ended.
func (m *home) pushCancelled(t *Timeout, was enginekit.Word) {
	c := m.core
	s := c.intake.of(t)
	if was&queued != 0 { // in a queue already: the drain drops the timeout
		s.countCancelledInQueue()
		m.hold()
		c.ensureDrained(s, noDeadline)
		return
	}
	n := s.countCancelled()
	m.hold()
	if !s.changed.Push(t) {
		s.uncountChange()
		m.notifyLate(t)
		return
	}
	c.ensureDrained(s, noDeadline)
	c.assistAt(s, n, false)
}

// hold gives the place of a cancelled timeout back to the limit, if there is a limit. The end
// of the timeout has been counted (S2).
func (m *home) hold() {
	if m.env.limit.Max() > 0 {
		m.group.hold()
	}
}

// countReset counts a reset of t.
func (m *home) countReset(t *Timeout, deadline int64) { m.core.intake.countReset(t, deadline) }

// pushAdvanced makes the worker look at a timeout that was reset to an earlier
// deadline. was is the word before.
func (m *home) pushAdvanced(t *Timeout, was enginekit.Word, deadline int64) {
	c := m.core
	s := c.intake.of(t)
	if was&queued != 0 { // in a queue already
		c.ensureDrained(s, deadline)
		return
	}
	n := s.countChange()
	if !s.changed.Push(t) {
		s.uncountChange()
		m.unqueue(t)
		return
	}
	c.ensureDrained(s, t.state.drainBy()) // others may rely on this push (L2)
	c.assistAt(s, n, false)
}

// notifyLate notifies the task of t after Cancel has ended t and the intake was closed. A
// running worker gives the notice; without one, a new goroutine does. The caller of Cancel
// never does: the caller may hold locks that the task needs.
func (m *home) notifyLate(t *Timeout) {
	if !enginekit.WantsCancelled(t.task) {
		return
	}
	c := m.core
	c.mu.Lock()
	gone := c.schedule.notices.closed.Load()
	if !gone {
		c.schedule.notices.add(t)
	}
	c.mu.Unlock()
	if gone {
		c.firing.countNotice()
		c.env.runner.CallLate(func() { m.giveLate(t) })
	}
}

// giveLate gives a late notice, on a separate goroutine.
func (m *home) giveLate(t *Timeout) {
	id := goroutineID()
	m.env.beginLate(id, m.env.runner.Own(t.task, false))
	defer m.env.endLate(id)
	m.env.runner.Cancelled(t, t.task)
}

// unqueue clears the queued bit of t after a push to a closed intake, and gives the notice for
// a Cancel that relied on that push.
func (m *home) unqueue(t *Timeout) {
	c := m.core
	c.mu.Lock()
	missed := t.state.dequeue().IsCancelled() && !t.node.IsAt(endedByStop)
	c.mu.Unlock()
	if missed {
		m.notifyLate(t)
	}
}

// env returns the configuration and clock of the timer. Every method of a timer calls env,
// so that a zero timer panics with the remedy.
func (g group) env() *env {
	if len(g) == 0 {
		panic(enginekit.UseNew)
	}
	return g[0].env
}

// of returns the worker for a new timeout.
func (g group) of(t *Timeout) *home { return &g[g.index(t)] }

// index returns the index of the worker for a new timeout. The index is a function of the
// timeout's address, so that timeouts are spread evenly, whichever processor makes them,
// and callers share no counter.
func (g group) index(t *Timeout) int {
	if len(g) > 1 {
		return cacheline.Share(numberOf(t), len(g))
	}
	return 0
}

// pending returns the number of pending timeouts (S2).
func (g group) pending() int64 {
	n, _ := enginekit.Between(g.accepted, func() int64 { return g.ends().sum() })
	return n
}

// addCounts sets the counts of timeouts so that the counts add up.
func (g group) addCounts(s *hwt.Stats) {
	var accepted int64
	var e ends
	enginekit.Between(func() int64 {
		accepted = g.accepted()
		return accepted
	}, func() int64 {
		e = g.ends()
		return e.sum()
	})
	s.Expired, s.Cancelled, s.Unprocessed = e.expired, e.cancelled, e.unprocessed
	s.Accepted = max(accepted, e.sum()) // what has ended since was accepted, too
	s.Pending = s.Accepted - e.sum()
}

// accepted returns the number of accepted timeouts.
func (g group) accepted() (n int64) {
	for i := range g {
		n += g[i].core.intake.accepted()
	}
	return n
}

// ends returns the number of ended timeouts.
func (g group) ends() (e ends) {
	for i := range g {
		g[i].core.addEnds(&e)
	}
	return e
}

// submitted returns the number of tasks and notices that the workers have handed to the runner.
func submitted(cores []*Core) (n int64) {
	for _, c := range cores {
		n += c.firing.expired.Load() + c.firing.noticed.Load()
	}
	return n
}

// close closes all intakes (S3).
func (g group) close() {
	for i := range g {
		g[i].core.intake.close()
	}
}

// hold accounts for a cancelled timeout that the worker has not dropped yet, in a timer with a
// pending limit. At half the bound, hold wakes the workers. Otherwise the workers would give
// notices only at the next tick.
func (g group) hold() {
	e := g.env()
	if e.limit.Hold() == e.maxHeld()/2 {
		g.nudge()
	}
	e.limit.Give(1)
}

// reserve takes places for n new timeouts of a timer with a pending limit. The limit also
// bounds the cancelled timeouts that are still held: a caller that finds too many drains
// the intake itself.
func (g group) reserve(n int64) error {
	e := g.env()
	if bound := e.maxHeld(); e.limit.Held() >= bound {
		g.drainAll()
		if held := e.limit.Held(); held >= bound { // the rest waits for notices
			g.nudge()
			return e.limit.Reject(&hwt.PendingLimitError{Cancelled: held, Max: bound})
		}
	}
	return e.limit.Take(n)
}

// drainAll drains all intakes.
func (g group) drainAll() {
	for i := range g {
		g[i].core.drainAll()
	}
}

// nudge has all workers look at the intake and at the notices that callers left.
func (g group) nudge() {
	for i := range g {
		g[i].core.nudge()
	}
}
