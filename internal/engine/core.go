package engine

import (
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
)

// Ground rules
//
// A push never waits for the worker, and costs the worker more than the caller. Callers at full
// speed would outrun it. Callers help, as goroutines that allocate assist Go's garbage
// collector: when the worker is late or a stripe is full, a caller takes mu and drains a batch
// of its stripe: the memory of the batch is in the cache of the caller's processor. A caller
// never waits for users' code, because users' code runs without mu.
//
//	P1. A stripe holds no more than maxBacklog timeouts, plus a batch or the pushes between two
//	    looks of each processor's callers: a caller that finds more waits for mu. This bounds
//	    the work of taking over a queue.
//	P2. A caller that drains acts as the worker would: it stores no timeout for a tick
//	    before earliest, leaves due alone, and queues notices for the worker. It runs
//	    no users' code. The wheel of a sleeping worker stood still, so the caller first
//	    moves it to the present.
//	P3. A caller that pushes a timeout which is due before the alarm of a sleeping
//	    worker wakes it, or drains the timeout and corrects the alarm, even if
//	    another caller has drained it.
//	P4. While the worker is late, callers that schedule fast rest, each time for a bounded time:
//	    they would outrun it even if it only waits for a processor. Callers never yield:
//	    runtime.Gosched moves its caller behind all other goroutines. Workers do not rest, nor
//	    callers of Cancel and Reset, who make no more work. A caller may hold a lock for which a
//	    task waits. Callers do not rest while a task runs that the watchdog found slow and that
//	    has held the worker for longestWait. If a worker has waited for a processor for as long,
//	    no task holds the worker, and callers continue to rest. Callers in a synctest bubble do
//	    not rest: the bubble's clock stands still while a goroutine waits for such a lock.
//	P5. A caller on the other side of a synctest bubble's border has another clock. It pushes,
//	    and wakes the worker by its token. It moves neither wheel nor alarm, and leaves phase to
//	    the worker. It starts no worker, because the goroutine would belong to the bubble. A
//	    caller from outside leaves a bubble's token alone, too.

const (
	assistEvery = 128     // pushes to a stripe between two looks
	maxBacklog  = 1 << 15 // timeouts in a stripe
	assistLen   = 1024    // most timeouts that a caller drains together

	// While the worker is late, the callers together push assistEvery timeouts per interval.
	// The interval is the square of the lateness over restUnit: ten million per second at a
	// lateness of 2 ms, 100,000 at 20 ms. At 56 ms and more, each caller pushes at most 12,800
	// per second. A caller that is early by less than minRest does not rest.
	restUnit = 312 * time.Millisecond
	minRest  = 50 * time.Microsecond
	maxRest  = 10 * time.Millisecond

	// sleeperTraffic is the number of timeouts, beyond the few that are no traffic, that
	// callers drain for a sleeping worker.
	sleeperTraffic = 16
)

// Core is one worker of a timer, with an intake and a wheel. The users' side is [Handle]. A
// core refers to handles only through pending timeouts, so the collector finds an abandoned
// timer although the workers are alive.
//
// Each field has an owner. The owner's type states the rules of the field. The methods of Core
// connect the owners: a caller that has pushed a timeout makes sure that the worker drains it
// in time, and helps a worker that is late.
type Core struct {
	env      env    // the whole timer's. Immutable after New.
	intake   intake // for callers; see the ground rules there.
	worker   worker // the goroutine.
	mu       sync.Mutex
	schedule schedule // Guarded by mu.
	firing   firing   // the running tasks; see there.
}

func newCore(env env, cfg Config) *Core {
	c := &Core{env: env}
	c.intake.init()
	c.schedule.init(&c.env, &c.intake, cfg.NewWheel())
	c.firing.init(&c.env, &c.mu, &c.worker.errands, cfg.SlowTask)
	c.worker.init(&c.env, &c.intake, &c.mu, &c.schedule, &c.firing)
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
	if now := c.env.clock.Now(); !c.env.clock.Apart() { // else the clock is another timer's
		c.firing.timing.addTo(s, now)
		lag := int64(0)
		if c.intake.phase.Load() != stopped {
			lag = c.intake.alarm.lateness(now)
		}
		c.worker.lags.addTo(s, now, lag)
		n := c.intake.backlog()
		s.Intake += n
		if n > 0 && c.intake.phase.Load() == ticking {
			s.IntakeAge = max(s.IntakeAge, c.intake.age(now))
		}
	}
}

// ensureDrained makes sure that a timeout which was pushed to s is drained by the given
// deadline (P3). ensureDrained does nothing if the worker will look at the intake in time
// anyway.
func (c *Core) ensureDrained(s *stripe, deadline int64) {
	if c.intake.phase.Load() != ticking {
		c.wakeOrDrain(s, deadline)
	}
}

func (c *Core) wakeOrDrain(s *stripe, deadline int64) {
	switch {
	case c.intake.phase.Load() != asleep || c.env.clock.Apart(): // the alarm is on the timer's side (P5)
		c.wakeWorker()
	case deadline < c.intake.alarm.covers.Load():
		c.drainForSleeper(s)
	}
}

// assistAt has the caller help at each assistEvery-th push, if the worker needs help. n is the
// number of the push. The caller may rest if isNew is true: the timeout is new.
func (c *Core) assistAt(s *stripe, n int64, isNew bool) {
	if n%assistEvery == 0 {
		c.assistOrRest(s, isNew)
	}
}

func (c *Core) assistOrRest(s *stripe, isNew bool) {
	switch {
	case c.intake.phase.Load() == asleep:
		c.wakeWorker() // the worker sleeps because there was little traffic
	case s.backlog() > maxBacklog/2:
		if !c.mu.TryLock() {
			if s.backlog() <= maxBacklog {
				return // the worker or another caller is draining
			}
			c.mu.Lock()
		}
		c.assist(s)
		c.mu.Unlock()
	case !c.env.clock.Apart() && c.env.clock.Now() >= c.intake.alarm.assistFrom.Load():
		slow := false
		if c.mu.TryLock() {
			c.assist(s)
			slow = c.firing.watchdog.inSlowTask()
			c.mu.Unlock()
		}
		if isNew && c.env.rests && !slow {
			c.rest()
		}
	}
}

// rest holds back callers that schedule fast while the worker is late (P4).
func (c *Core) rest() {
	now := c.env.clock.Now()
	late := min(c.intake.alarm.lateness(now), int64(time.Second))
	interval := min(late*late/int64(restUnit), int64(maxRest))
	at := c.intake.turn(now, interval, int64(maxRest))
	if at >= now+int64(minRest) && !c.env.isWorker(goroutineID()) {
		time.Sleep(time.Duration(at - now))
	}
}

// drainForSleeper drains s on behalf of the sleeping worker and advances the alarm if
// necessary. drainForSleeper wakes the worker if that does not suffice, or if there is
// traffic: the worker then looks at every tick, and callers need not drain.
func (c *Core) drainForSleeper(s *stripe) {
	if !c.mu.TryLock() {
		c.wakeWorker()
		return
	}
	c.assist(s)
	enough := len(c.schedule.notices.next) == 0 && s.backlog() <= 0 && !c.schedule.draining.busy(c.env.clock.Now(), sleeperTraffic)
	if enough {
		c.worker.correctAlarm()
	}
	c.mu.Unlock()
	if !enough {
		c.wakeWorker()
	}
}

// catchUp moves the wheel of a worker that sleeps or has not begun to the tick before the
// present one. catchUp returns false if Stop has taken the wheel. Guarded by mu.
func (c *Core) catchUp() bool {
	if c.schedule.wheel == nil {
		return false
	}
	if c.worker.sleeping && !c.env.clock.Apart() { // (P5)
		c.schedule.skipTo(c.env.clock.Now()/c.env.tickDur - 1)
	}
	return true
}

// assist drains a batch of s. Guarded by mu.
func (c *Core) assist(s *stripe) {
	if c.catchUp() {
		c.schedule.assist(s, assistLen)
	}
}

// wakeWorker starts or wakes the worker. The slow path of a push, taken when phase is not
// ticking.
func (c *Core) wakeWorker() {
	switch {
	case c.env.clock.Apart(): // (P5)
		c.nudge()
	case c.intake.change(asleep, ticking):
		c.noteWoken()
		c.worker.relieveWoken()
		c.worker.sleeper.Load().wake()
	case c.intake.phase.Load() == unstarted:
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.intake.change(unstarted, ticking) {
			c.noteWoken()
			c.worker.start()
		}
	}
}

// noteWoken records that the caller has woken the worker now.
func (c *Core) noteWoken() {
	now := c.env.clock.Now()
	c.intake.noteEmptied(now)
	c.intake.alarm.assist(now + c.env.onTime)
}

// keepWorker starts the worker and keeps the worker from retiring.
func (c *Core) keepWorker() {
	c.mu.Lock()
	c.worker.keep()
	c.mu.Unlock()
	c.wakeWorker()
}

// nudge makes the worker look at the intake without touching phase or alarm.
func (c *Core) nudge() {
	if s := c.worker.sleeper.Load(); s != nil && !c.env.clock.Foreign() {
		s.wake()
	}
}

// drainAll drains the whole intake.
func (c *Core) drainAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.catchUp() {
		c.schedule.drainAll()
	}
}
