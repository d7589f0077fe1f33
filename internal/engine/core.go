package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/task"
	"github.com/hashedwheel/hwt/leak"
)

// TransferCap is how many new timeouts the worker transfers to the wheel in one
// tick, as in Netty. What is more waits for the next tick; a timeout that was
// cancelled before its transfer does not count.
const TransferCap = 100_000

// Wheel is where timeouts wait for their tick. Ticks are numbered from the
// timer's start; tick n has come once n tick durations have passed. All methods
// are called by the holder of Core.mu.
type Wheel interface {
	// MoveTo makes tick the current tick. It never passes over a tick at which
	// Next said there is something to expire, and never goes back.
	MoveTo(tick int64)

	// Add files t to expire at tick, or earlier if that suits the wheel: the
	// core adds again what comes before its time. tick is at least the current.
	Add(t *Timeout, tick int64)

	// Remove takes out a timeout that Add put in.
	Remove(t *Timeout)

	// Prefetch asks for the memory that these moves, which come next, will need.
	// It changes nothing.
	Prefetch(moves []Move)

	// Expire takes out what is filed for the current tick and appends it to
	// due.
	Expire(due []*Timeout) []*Timeout

	// Next returns a tick, after the current once that was expired, before
	// which nothing is filed; the largest int64 if the wheel is empty.
	Next() int64

	// All yields all that is filed.
	All(yield func(*Timeout) bool)
}

// Config is what New needs. The engines have checked it.
type Config struct {
	Tick       time.Duration // at least a nanosecond
	MaxPending int64         // 0 or less: no limit
	SlowTask   time.Duration // 0: not watched
	StopWait   time.Duration // how long Stop waits for users' code
	Wheel      Wheel
	Runner     *task.Runner
	Tracker    *leak.Tracker // nil: not tracked
}

// phase says what the worker is at, as far as callers need to know.
type phase = int32

const (
	unstarted phase = iota // there is no worker yet
	ticking                // the worker will look at the intake at its next tick
	asleep                 // the worker may sleep for long: whoever pushes must rouse it
	stopped                // the worker is gone, or about to go
)

// Core is the timer as its worker knows it. The users' side is Handle: the core
// refers to handles only through pending timeouts, so that a timer nobody needs
// any more can be collected although its worker is alive.
type Core struct {
	start   time.Time     // Immutable after New. Time zero of all deadlines.
	tickDur int64         // in nanoseconds. Immutable after New.
	limit   int64         // of pending timeouts, 0 if none. Immutable after New.
	wait    time.Duration // StopWait. Immutable after New.
	runner  *task.Runner  // Immutable after New.
	intake  intake        // see its own ground rules.
	bubbled bool          // the timer was made in a synctest bubble. Immutable after New.

	phase atomic.Int32  // Atomic: see worker.go.
	wake  chan int64    // holds a token from rouse to the worker's waking: the tick to look at.
	quit  chan struct{} // closed with phase stopped.
	taken chan struct{} // closed when nothing is pending any more and nothing can be.
	done  chan struct{} // closed when the worker has ended.

	slots    atomic.Int64 // taken of limit; unused without one. Atomic: written by all.
	rejected atomic.Int64 // Atomic: written by NewTimeout, read by Stats.
	totals   totals       // Atomic: written by the holder of mu, read by Stats.

	mu     sync.Mutex
	wheel  Wheel      // nil once Stop took it. Guarded by mu.
	told   []*Timeout // cancelled, with tasks that want to know. Guarded by mu; unchanging while firing.
	due    []*Timeout // expired, or about to be. Guarded by mu; unchanging while firing.
	last   []*Timeout // to become told when the worker ends. Guarded by mu.
	gone   bool       // the worker takes no more of last. Guarded by mu.
	firing bool       // the worker is running told and due. Written by the worker under mu, so that it alone may read it without.
	watch  watch      // Guarded by mu.

	position atomic.Int64 // how many of told and due have begun. Atomic: written by the worker, read by watch.
	workerID atomic.Int64 // the worker's goroutine number. Atomic: written by the worker, read by Stop.

	sleeper   *time.Timer // Worker only.
	tick      int64       // the latest processed. Worker only.
	drainFrom int64       // when the intake may be drained again. Worker only.
	popped    int         // from the intake, at the latest tick. Worker only.
	overtime  bool        // the latest tick's time was over while popping. Worker only.
	spared    bool        // something in due was reset, and did not expire. Worker only.
	nextDue   int64       // Next of the wheel when last seen. Worker only.
	quiet     bool        // the latest tick found the intake empty. Worker only.

	batch [batchLen]Move // being settled; here, since what the wheel is handed escapes. Worker only.
}

// totals are the counts of Stats that the worker keeps.
type totals struct {
	expired     atomic.Int64
	unprocessed atomic.Int64
	slow        atomic.Int64
	ticks       atomic.Int64
	wakeUps     atomic.Int64
	leftOver    atomic.Int64
	maxLag      atomic.Int64
}

func newCore(cfg Config) *Core {
	c := &Core{
		start:   time.Now(),
		tickDur: int64(cfg.Tick),
		limit:   max(cfg.MaxPending, 0),
		wait:    cfg.StopWait,
		runner:  cfg.Runner,
		intake:  newIntake(),
		wake:    make(chan int64, 1),
		quit:    make(chan struct{}),
		taken:   make(chan struct{}),
		done:    make(chan struct{}),
		wheel:   cfg.Wheel,
	}
	_, c.bubbled = goroutine()
	c.watch.threshold = int64(cfg.SlowTask)
	return c
}

// now returns the nanoseconds since the timer's start, by the monotonic clock.
func (c *Core) now() int64 { return int64(time.Since(c.start)) }

// deadline returns the deadline of a delay from now; forever if that is beyond
// the clock's range.
func (c *Core) deadline(delay time.Duration) int64 {
	now := c.now()
	return now + min(max(int64(delay), 0), forever-now)
}

// tickOf returns the first tick that has come no earlier than deadline.
func (c *Core) tickOf(deadline int64) int64 { return (deadline-1)/c.tickDur + 1 }

// reserve counts a new timeout against the limit.
func (c *Core) reserve() error {
	if c.phase.Load() == stopped {
		return hwt.ErrStopped
	}
	for {
		n := c.slots.Load()
		if n >= c.limit {
			c.rejected.Add(1)
			return &hwt.PendingLimitError{Pending: n + 1, Max: c.limit}
		}
		// Not added and taken back: that would refuse others meanwhile.
		if c.slots.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

// release gives back what n timeouts took of the limit.
func (c *Core) release(n int64) {
	if c.limit > 0 {
		c.slots.Add(-n)
	}
}

// onCancelled accounts for the life of t, which Cancel ended when its word was
// was, and sees to it that the worker lets go of t.
func (c *Core) onCancelled(t *Timeout, was life) {
	c.intake.of(t).cancelled.Add(1)
	c.release(1)
	if was&queued == 0 && !c.pushChanged(t) {
		c.tellLast(t)
	}
}

// pushQueued tells the worker to look at the word of t, in which the caller has
// set queued.
func (c *Core) pushQueued(t *Timeout) {
	if !c.pushChanged(t) {
		c.unqueue(t)
	}
}

// pushChanged tells the worker to look at the word of t. It returns false if
// the timer is stopped.
func (c *Core) pushChanged(t *Timeout) bool {
	if !c.intake.of(t).changed.Push(t) {
		return false
	}
	if c.phase.Load() != ticking {
		c.rouse()
	}
	return true
}

// pending returns how many timeouts have not ended. Ends first: see S2.
func (c *Core) pending() int64 {
	ends := c.totals.expired.Load() + c.totals.unprocessed.Load()
	accepted, cancelled := c.intake.counts()
	return accepted - cancelled - ends
}

func (c *Core) stats() hwt.Stats {
	s := hwt.Stats{
		Expired:     c.totals.expired.Load(),
		Unprocessed: c.totals.unprocessed.Load(),
		Rejected:    c.rejected.Load(),
		SlowTasks:   c.totals.slow.Load(),
		Ticks:       c.totals.ticks.Load(),
		WakeUps:     c.totals.wakeUps.Load(),
		LeftOver:    c.totals.leftOver.Load(),
		MaxLag:      time.Duration(c.totals.maxLag.Load()),
	}
	s.Accepted, s.Cancelled = c.intake.counts()
	s.Pending = s.Accepted - s.Cancelled - s.Expired - s.Unprocessed
	c.runner.AddTo(&s)
	return s
}
