// Package hierarchical is a timer on wheels of wheels, after the timing wheel of
// Kafka: for very many timeouts of very different delays, milliseconds to years,
// at a fine tick.
//
// The lowest level is a wheel with a bucket a tick. Every level above has as
// many buckets, each of which spans what the whole level below does; a level
// appears when a delay first needs it. With the defaults, 64 ticks of 1 ms, the
// levels reach 64 ms, 4 s, 4 minutes, 4.7 hours, 12 days, 2 years. A timeout waits
// on the lowest level that reaches its deadline. The buckets in use wait in a
// delay queue, so that the worker sleeps from one bucket to the next, and empty
// ticks cost nothing. When a bucket above the lowest level comes due, its
// timeouts are filed again below: they cascade, until they expire at their tick.
//
// A task runs up to a tick after its deadline, and never before it. A timeout
// that is cancelled leaves its bucket at the next tick, wherever it is.
//
// # When to take it
//
// Take it for long delays at a fine tick, and for delays that have nothing in
// common: there is no wheel to be sized for the usual delay. Package hashedwheel
// is the simpler machine and takes a little less memory; take it if most delays
// are shorter than a rotation of its wheel. Take package runtimetimer for few
// timeouts, or for tasks that must run to the microsecond.
//
// Measured on two cores that were busy with other things too, as process CPU
// time of an operation; Go's own timers in the same run, hashedwheel (at 1 ms on
// 8192 buckets) in one after it:
//
//	                                           hierarchical  hashedwheel  time.AfterFunc
//	NewTimeout and Cancel, nothing pending           153 ns       179 ns          330 ns
//	the same with a million pending                  129 ns       136 ns          474 ns
//	a million come due within one second, each       366 ns       302 ns         3155 ns
//	    the latest 1 % of them are late by           2.1 ms       2.1 ms         seconds
//	heap a pending timeout                             66 B         58 B
//	a million far ones waiting, share of a core     0.004 %      0.002 %
//
// To repeat it:
//
//	go test -run '^$' -bench . -benchtime 1x ./hierarchical ./hashedwheel
//
// # What it costs
//
// NewTimeout, Cancel and Reset are those of package hashedwheel: one allocation
// of 48 bytes for the timeout, a compare-and-swap for each call, O(1) whatever
// is pending, and nothing blocks. What the worker does with a timeout is O(1) on
// each level that it cascades through, and O(log b) for the first timeout in
// each of b buckets.
//
// A cascade holds up the tasks of its tick, so there is a bound to it: a bucket
// takes 1024 timeouts, and what comes after goes straight into finer buckets. So
// a million timeouts that are due within the same second are not filed again at
// one tick: one in fifty of them cascades at all.
//
// A level takes 48 bytes a bucket for as long as the timer lives, 3 KiB with the
// default size.
//
// For the promises that all engines keep see package hwt.
package hierarchical

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine"
	"github.com/hashedwheel/hwt/leak"
)

// Timer is a hierarchical wheel timer. Make one with New; all methods are safe
// for concurrent use, also from inside tasks.
type Timer struct {
	handle engine.Handle
	config *config       // Immutable after New.
	levels *atomic.Int64 // Atomic: written by the wheel, which Stop lets go of, read by Levels.
}

var _ hwt.Timer = (*Timer)(nil)

// leaks reports timers that were dropped without Stop.
var leaks = leak.NewDetector[Timer]("hierarchical.Timer", leak.WithRelease("Stop"))

// New returns a timer with the options given. Its worker goroutine starts with
// the first timeout. An option out of its range is an error that names the
// option, the value and the range.
func New(options ...Option) (*Timer, error) {
	c, err := newConfig(options)
	if err != nil {
		return nil, err
	}
	t := &Timer{config: c, levels: new(atomic.Int64)}
	t.init(newWheel(c.ticksPerWheel, t.levels))
	return t, nil
}

// init gives the timer its wheel, which tests put one of their own around.
func (t *Timer) init(wheel engine.Wheel) {
	var tracker *leak.Tracker
	if t.config.LeakDetection {
		tracker = leaks.TrackAlways(t)
	}
	t.handle.Init(t, t.config.Core(wheel, tracker))
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

// Levels returns how many levels the timer has: one to begin with, and more as
// delays need them, which shows at the tick after NewTimeout or Reset. Levels
// never go away. It takes constant time.
func (t *Timer) Levels() int { return int(t.levels.Load()) }

// Stats returns a snapshot of the timer's counts. They are kept in any case, so
// that reading them costs the timer nothing.
func (t *Timer) Stats() hwt.Stats { return t.handle.Stats() }

// String names the timer, its tick, its levels, their size, and what is pending.
func (t *Timer) String() string {
	return fmt.Sprintf("hierarchical.Timer(%s, tick %v, %d levels of %d buckets, %d pending)",
		t.config.Name, t.config.Tick, t.Levels(), t.config.ticksPerWheel, t.Pending())
}
