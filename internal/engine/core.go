package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cacheline"
)

// phase is the part of the worker's state that callers need to know.
type phase int32

const (
	unstarted phase = iota // there is no worker
	ticking                // the worker will look at the intake at its next tick
	asleep                 // the worker may sleep for long: a caller that pushes must attend (pace.go)
	stopped                // the worker has ended or is ending
)

// phaseWord is an atomic phase.
type phaseWord struct{ word atomic.Int32 }

func (p *phaseWord) Load() phase          { return phase(p.word.Load()) }
func (p *phaseWord) Store(now phase)      { p.word.Store(int32(now)) }
func (p *phaseWord) Swap(now phase) phase { return phase(p.word.Swap(int32(now))) }
func (p *phaseWord) CompareAndSwap(was, now phase) bool {
	return p.word.CompareAndSwap(int32(was), int32(now))
}

// Core is one worker of a timer with its intake and wheel. The users' side is [Handle]. A
// core refers to handles only through pending timeouts, so the collector finds a timer
// that is no longer used although its workers are alive.
//
// Each field has an owner, whose rules its type states.
type Core struct {
	timer    setup  // the whole timer's. Immutable after New.
	intake   intake // the callers'; see its ground rules.
	signal   signal // how callers reach the worker.
	worker   worker // the worker's goroutine.
	totals   totals // Atomic: written by the holder of mu, read by Stats.
	mu       sync.Mutex
	schedule schedule // Guarded by mu.
	firing   firing   // the running tasks; see there.
}

// signal is how callers reach the worker. On cache lines that only the worker and callers
// that wake it write.
type signal struct {
	_          [cacheline.Padding]byte
	phase      phaseWord    // Atomic: see worker.go.
	alarm      atomic.Int64 // the earliest deadline that a sleeping worker's timer does not cover: a caller with an earlier one must act (P3). Atomic: written under mu, read by callers.
	emptied    atomic.Int64 // the last time at which the intake was known to be empty, while phase is ticking. Atomic: written by the worker and wakeWorker, read by Stats.
	assistFrom atomic.Int64 // the time from which callers assist (pace.go). Atomic: written under mu and by wakeWorker, read by callers.
	_          [cacheline.Padding]byte
}

// worker is the goroutine that advances the wheel, and its end.
type worker struct {
	sleeper   atomic.Pointer[sleeper] // nil until the first worker starts. Atomic: written under mu, read by all.
	workers   atomic.Int32            // goroutines that are or were the worker and have not ended. Atomic: written under mu.
	workerID  atomic.Int64            // the worker's goroutine number. Atomic: written by the worker, read by Stop.
	quit      chan struct{}           // closed with phase stopped.
	takenOver chan struct{}           // closed once Stop has ended all pending timeouts.
	done      chan struct{}           // closed when the worker has ended.
}

// schedule is the wheel and its progress. Guarded by Core.mu.
type schedule struct {
	timer     *setup         // Immutable after New.
	intake    *intake        // its queues are drained here (W4). Immutable after New.
	wheel     Wheel          // nil once Stop took it
	tick      int64          // the last processed. Written by the worker, or while it sleeps or before it begins, so it may read it without mu.
	earliest  int64          // the first tick to which timeouts may be added: tick, or the next once tick has expired
	expected  int64          // the time of the worker's next look
	sleeping  bool           // the worker is asleep or about to be, has retired, or has not begun
	kept      bool           // the worker does not retire, since Start was called
	waryUntil int64          // the time until which all reliefs are set
	idleUntil int64          // the time from which a sleeping worker with nothing pending may retire
	draining  draining       // see there
	walks     walks          // see there
	batch     [batchLen]move // scratch space for drainQueue; a field because a local would escape through Wheel

	nextNotices   []*Timeout // cancelled, with tasks to notify
	noticesClosed bool       // the worker takes no more of nextNotices
}

// totals are the counts of Stats that the worker keeps.
type totals struct {
	unprocessed   atomic.Int64
	ticks         atomic.Int64
	wakeups       atomic.Int64
	deferredTicks atomic.Int64
	lags          lags
}

func newCore(s setup, cfg Config) *Core {
	c := &Core{
		timer:  s,
		intake: newIntake(),
		worker: worker{
			quit:      make(chan struct{}),
			takenOver: make(chan struct{}),
			done:      make(chan struct{}),
		},
		schedule: schedule{
			wheel:    cfg.NewWheel(),
			earliest: 1,
			expected: never,
			sleeping: true,
			draining: draining{complete: true, stale: true, sleptAt: -1},
		},
		firing: firing{watchdog: watchdog{threshold: int64(cfg.SlowTask)}},
	}
	c.schedule.timer, c.schedule.intake = &c.timer, &c.intake
	c.firing.timer = &c.timer
	c.firing.watchdog.mu, c.firing.watchdog.firing = &c.mu, &c.firing
	c.totals.lags.lookAt.Store(never)
	c.signal.assistFrom.Store(never)
	return c
}

// pending returns how many timeouts have not ended. Ends first: see S2.
func (c *Core) pending() int64 {
	ends := c.firing.expired.Load() + c.totals.unprocessed.Load()
	accepted, cancelled := c.intake.counts()
	return accepted - cancelled - ends
}

// addTo adds the counts of this worker to the timer's statistics.
func (c *Core) addTo(s *hwt.Stats) {
	s.Expired += c.firing.expired.Load()
	s.Unprocessed += c.totals.unprocessed.Load()
	s.SlowTasks += c.firing.watchdog.slow.Load()
	s.Ticks += c.totals.ticks.Load()
	s.Wakeups += c.totals.wakeups.Load()
	s.DeferredTicks += c.totals.deferredTicks.Load()
	accepted, cancelled := c.intake.counts() // after the other ends, as in pending
	s.Accepted += accepted
	s.Cancelled += cancelled
	s.Resets += c.intake.resets()
	if now := c.timer.now(); !c.timer.clock.Apart() { // else it is no time of this timer
		c.firing.timing.addTo(s, now)
		c.totals.lags.addTo(s, now, c.signal.phase.Load() != stopped)
		c.addIntake(s, now)
	}
}

// addIntake adds the length and the age of the intake.
func (c *Core) addIntake(s *hwt.Stats, now int64) {
	n := c.intake.backlog()
	s.Intake += n
	if n > 0 && c.signal.phase.Load() == ticking {
		s.IntakeAge = max(s.IntakeAge, time.Duration(now-c.signal.emptied.Load()))
	}
}
