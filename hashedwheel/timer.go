// Package hashedwheel is Netty's HashedWheelTimer for Go: an approximate timer
// for very many timeouts, most of which are cancelled before they come due.
//
// One worker goroutine turns a wheel of buckets, a bucket a tick. A new timeout
// goes into a lock-free queue; at the next tick the worker drains the queue, at
// most 100,000 timeouts a tick, into the buckets with their remaining rounds,
// processes what was cancelled and reset, and then expires the current bucket.
// A task so runs up to a tick after its deadline, and never before it.
//
// # What it costs
//
// Scheduling takes one allocation of 48 bytes, one reading of the clock and one
// compare-and-swap on a queue that other processors seldom touch; cancelling
// and resetting to a later time take one compare-and-swap on the timeout
// itself. All of it is O(1) whatever is pending, and nothing blocks. A pending
// timeout holds about 60 bytes of heap. Nobody wakes while nothing is pending,
// and ticks at which nothing expires are slept over.
//
// # Choosing tick and wheel
//
// Choose the tick as the lateness you can bear: 100 ms for connection and
// request timeouts, 1 ms at the finest. Choose the wheel so that one rotation
// is about as long as the usual delay. Longer delays go round more than once,
// at next to no cost; a wheel too short only makes buckets longer.
//
// For the promises that all engines keep see package hwt; the differences from
// Netty are in the README.
package hashedwheel

import (
	"fmt"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine"
	"github.com/hashedwheel/hwt/leak"
)

// Timer is a hashed wheel timer. Make one with New; all methods are safe for
// concurrent use, also from inside tasks.
type Timer struct {
	handle engine.Handle
	config *config // Immutable after New.
}

var _ hwt.Timer = (*Timer)(nil)

// leaks reports timers that were dropped without Stop.
var leaks = leak.NewDetector[Timer]("hashedwheel.Timer", leak.WithRelease("Stop"))

// New returns a timer with the options given. Its worker goroutine starts with
// the first timeout. An option out of its range is an error that names the
// option, the value and the range.
func New(options ...Option) (*Timer, error) {
	c, err := newConfig(options)
	if err != nil {
		return nil, err
	}
	t := &Timer{config: c}
	var tracker *leak.Tracker
	if c.LeakDetection {
		tracker = leaks.TrackAlways(t)
	}
	t.handle.Init(t, c.Core(newWheel(c.ticksPerWheel), tracker))
	return t, nil
}

// NewTimeout schedules task to run once, delay from now, and no more than a
// tick later than that. A delay of zero or less runs at the next tick; one
// beyond the clock's range, which ends 146 years after New, never comes due.
//
// It does not block, and makes one allocation of 48 bytes.
//
// It returns hwt.ErrNilTask, hwt.ErrStopped, or a *hwt.PendingLimitError; then
// nothing was scheduled. A call that races with Stop either gets hwt.ErrStopped,
// or its timeout is in the set that Stop returns, unless it ended before.
func (t *Timer) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	return t.handle.NewTimeout(task, delay)
}

// AfterFunc schedules f as NewTimeout would a task. f runs where tasks run: on
// the worker, unless there is an executor.
func (t *Timer) AfterFunc(delay time.Duration, f func()) (hwt.Timeout, error) {
	return t.handle.AfterFunc(delay, f)
}

// Start starts the worker, which the first timeout does as well. It does
// nothing if the worker was started already, or the timer stopped.
func (t *Timer) Start() { t.handle.Start() }

// Stop refuses all timeouts from now on, cancels the pending ones and returns
// them, in no order. Every call after the first returns nothing. It takes time
// proportional to what is pending.
//
// It waits for the worker to end, and so for a task that is running on it, but
// not for ever: no longer than WithStopTimeout says, after which that task goes
// on alone; and not at all when a task on the worker calls Stop itself. So it
// may be called from anywhere.
func (t *Timer) Stop() []hwt.Timeout { return t.handle.Stop() }

// Pending returns how many timeouts have neither expired nor been cancelled. A
// cancelled one is off the count when Cancel returns, an expired one before its
// task runs. It takes time proportional to the number of processors.
func (t *Timer) Pending() int64 { return t.handle.Pending() }

// Stats returns a snapshot of the timer's counts. They are kept in any case, so
// that reading them costs the timer nothing.
func (t *Timer) Stats() hwt.Stats { return t.handle.Stats() }

// String names the timer, its tick, its buckets and what is pending.
func (t *Timer) String() string {
	return fmt.Sprintf("hashedwheel.Timer(%s, tick %v, %d buckets, %d pending)",
		t.config.Name, t.config.Tick, t.config.ticksPerWheel, t.Pending())
}
