package clock

import (
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/isnil"
	"github.com/hashedwheel/hwt/internal/task"
)

// Clock gives timers, tickers, schedules and contexts whose times are held by an
// hwt.Timer. Make one with New; all methods are safe for concurrent use. It has
// no goroutine and needs no closing: stop its timer, after all that uses it.
type Clock struct {
	timer   hwt.Timer   // Immutable after New.
	start   time.Time   // Immutable after New. Times inside count from here.
	config  config      // Immutable after New.
	runner  task.Runner // Runs users' code. Immutable after New.
	flocks  sync.Map    // time.Duration to *flock: the tickers of each period.
	wakers  sync.Pool   // of sleepers. Not for all clocks: a channel belongs to the synctest bubble it was made in.
	refusal sync.Once   // The first refusal is logged.
}

// New returns a clock on a timer, which may serve others as well. It does not
// start anything, and costs a few hundred bytes. It panics if timer is nil, or a
// nil pointer.
func New(timer hwt.Timer, options ...Option) *Clock {
	if isnil.Of(timer) {
		panic("clock: New: timer is nil (expected: an hwt.Timer)")
	}
	c := &Clock{timer: timer, start: time.Now(), config: newConfig(options)}
	c.runner = task.Runner{Name: "clock", Logger: slog.Default()}
	if handler := c.config.onError; handler != nil {
		c.runner.OnError = func(_ hwt.Timeout, err error) { handler(err) }
	}
	return c
}

// arm schedules what on the timer, or on one of Go's own if the timer refuses.
func (c *Clock) arm(what hwt.TimerTask, d time.Duration) hwt.Timeout {
	timeout, err := c.timer.NewTimeout(what, d)
	if err != nil {
		return c.standIn(what, d, err)
	}
	return timeout
}

// now returns the monotonic time since New.
func (c *Clock) now() time.Duration { return time.Since(c.start) }

// due returns when something d from now is due, in the time of now. It
// saturates.
func due(now, d time.Duration) time.Duration {
	if d > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + max(d, 0)
}

// nominal returns the time at which something was due, as channels tell it: that
// is what package time sends, however late the send.
func (c *Clock) nominal(now time.Time, due time.Duration) time.Time {
	return now.Add(due - now.Sub(c.start))
}
