package engine

import (
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
)

// Core is one worker of a timer with its intake and wheel. The users' side is [Handle]. A
// core refers to handles only through pending timeouts, so the collector finds a timer
// that is no longer used although its workers are alive.
//
// Each field has an owner, whose rules its type states.
type Core struct {
	timer    setup   // the whole timer's. Immutable after New.
	errands  errands // runtime timers with goroutines.
	intake   intake  // the callers'; see its ground rules.
	signal   signal  // how callers reach the worker.
	worker   worker  // its goroutine.
	mu       sync.Mutex
	schedule schedule // Guarded by mu.
	firing   firing   // the running tasks; see there.
}

func newCore(timer setup, cfg Config) *Core {
	c := &Core{
		timer:  timer,
		intake: newIntake(),
		worker: worker{
			quit:      make(chan struct{}),
			takenOver: make(chan struct{}),
			done:      make(chan struct{}),
			sleeping:  true,
		},
		schedule: schedule{
			wheel:    cfg.NewWheel(),
			earliest: 1,
			draining: draining{complete: true, stale: true, sleptAt: -1},
		},
		firing: firing{watchdog: watchdog{threshold: int64(cfg.SlowTask)}},
	}
	w, s, f := &c.worker, &c.schedule, &c.firing
	w.timer, w.signal, w.mu, w.schedule, w.firing = &c.timer, &c.signal, &c.mu, s, f
	s.timer, s.intake, s.signal = &c.timer, &c.intake, &c.signal
	f.timer, f.watchdog.mu, f.watchdog.firing, f.watchdog.errands = &c.timer, &c.mu, f, &c.errands
	w.errands, c.errands.none = &c.errands, w.checkDone
	w.lags.expect(never)
	c.signal.assistFrom.Store(never)
	return c
}

// ends are timeouts that have ended.
type ends struct{ expired, cancelled, unprocessed int64 }

func (e ends) sum() int64 { return e.expired + e.cancelled + e.unprocessed }

// addEnds adds the timeouts of this worker that have ended.
func (c *Core) addEnds(e *ends) {
	e.expired += c.firing.expired.Load()
	e.cancelled += c.intake.cancelled()
	e.unprocessed += c.schedule.unprocessed.Load()
}

// addTo adds the counts of this worker to the timer's statistics.
func (c *Core) addTo(s *hwt.Stats) {
	s.SlowTasks += c.firing.watchdog.slow.Load()
	s.Ticks += c.schedule.ticks.Load()
	s.Wakeups += c.worker.wakeups.Load()
	s.DeferredTicks += c.schedule.deferredTicks.Load()
	s.Resets += c.intake.resets()
	if now := c.timer.now(); !c.timer.clock.Apart() { // else it is no time of this timer
		c.firing.timing.addTo(s, now)
		c.worker.lags.addTo(s, now, c.signal.phase.Load() != stopped)
		n := c.intake.backlog()
		s.Intake += n
		if n > 0 && c.signal.phase.Load() == ticking {
			s.IntakeAge = max(s.IntakeAge, time.Duration(now-c.signal.emptied.Load()))
		}
	}
}
