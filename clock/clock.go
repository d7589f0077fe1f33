package clock

import (
	"cmp"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// Clock creates timers, tickers, contexts and jobs on an [hwt.Timer]. Create a Clock with
// [New]. The methods are safe for concurrent use. A Clock needs no Close; stop the timer after
// everything that uses the clock. A Clock has no goroutine, except on Linux: two goroutines
// watch for steps of the wall clock while jobs wait for wall-clock times, and end with the
// last job or with the timer.
type Clock struct {
	timer    hwt.Timer        // Immutable after New.
	options  Options          // Immutable after New.
	runner   enginekit.Runner // Immutable after New.
	start    time.Time        // The zero of the times in this package. Immutable after New.
	bubble   enginekit.Clock  // Knows the synctest bubble of New. Safe for concurrent use.
	groups   sync.Map         // From time.Duration to *tickerGroup.
	sleepers sync.Pool        // Of *Timer, for Sleep. One per clock: a channel must stay in its synctest bubble.
	refused  sync.Once        // The first rejection is logged.
	jobs     registry         // Safe for concurrent use.
	wall     wallClock        // Safe for concurrent use.

	suspension *suspension // Nil unless Options.CountSuspension. Immutable after New.

	ahead atomic.Int64 // By this, tests set the wall clock forward. Otherwise 0.

	failures       atomic.Int64 // Atomic: written by call, read by Stats.
	fallbackTimers atomic.Int64 // Atomic: written by fallback, read by Stats.
}

// Options are the settings of a [Clock]. The zero value of each field is its
// default.
type Options struct {
	// ErrorHandler is called with a *[hwt.PanicError] if a function or a Schedule panics,
	// with [hwt.ErrGoexit] if the function ends its goroutine, and with the error that the
	// function of a [Job] returns. ErrorHandler is also called each time the timer rejects
	// a timeout, with an error that wraps the timer's, such as [hwt.ErrStopped] or
	// [hwt.ErrTooManyPending].
	//
	// It may be called from several goroutines concurrently and should not block. nil
	// is the default: failures are logged, and so is the first rejection.
	ErrorHandler func(error)

	// Logger receives failures and the first rejection if there is no ErrorHandler, and
	// panics of the ErrorHandler. nil is the default: slog.Default at the time of New.
	Logger *slog.Logger

	// Name identifies the clock in the log. "" is the default: "clock".
	Name string

	// FuncsOnTimer makes the functions of AfterFunc run where the timer runs its tasks: on
	// its worker, or on its executor. This saves one goroutine per call and suits functions
	// that return quickly. By default, false, each call has a new goroutine, as in package
	// time. A call without a delay always has a new goroutine.
	FuncsOnTimer bool

	// PanicsEndProgram makes a panic in a function of AfterFunc end the program, as in
	// package time, and not be reported. By default, false, the panic is reported.
	// PanicsEndProgram cannot be set together with FuncsOnTimer.
	PanicsEndProgram bool

	// RuntimeBelow is the delay below which a timer, context, sleep, or job uses a runtime
	// timer. The lateness of a runtime timer does not depend on the tick. A ticker uses runtime
	// timers if the period is below RuntimeBelow. Two ticks of the timer suit most programs. By
	// default, 0, only the hwt.Timer is used. A negative value is an error.
	RuntimeBelow time.Duration

	// CountSuspension makes the delays of timers, tickers, sleeps, and contexts count the
	// time for which the machine was suspended, as CLOCK_BOOTTIME does: due work happens when
	// the machine wakes. Delays below RuntimeBelow, and the runtime timers that replace
	// rejected timeouts, do not count the suspension. FixedRate and FixedDelay do not count it
	// either. Jobs of a [Spec] follow the wall clock anyway.
	//
	// Two goroutines wait for the waking until the timer stops. Then the clock looks at all
	// pending timeouts of the timer. Each call reads the clock by a system call. The timer
	// must be an engine of this module. On systems other than Linux, true is an error. By
	// default, false, delays are on the monotonic clock, which stops during suspension on
	// Linux.
	CountSuspension bool
}

func (o *Options) check() error {
	if o.PanicsEndProgram && o.FuncsOnTimer {
		return check.Invalid("clock", "PanicsEndProgram", true, "false if FuncsOnTimer is true")
	}
	return check.NotNegative("clock", "RuntimeBelow", o.RuntimeBelow, "none")
}

// New returns a clock on timer. Other users may share the timer. nil options are the defaults.
// New does not start the timer. New returns an error if timer is nil, or an option is out of
// range.
func New(timer hwt.Timer, options *Options) (*Clock, error) {
	if err := check.NotNil("clock", "New", "timer", timer, "an hwt.Timer"); err != nil {
		return nil, err
	}
	c := &Clock{timer: timer, start: time.Now()}
	c.bubble.Start()
	c.wall.off = c.bubble.Inside()
	if options != nil {
		c.options = *options
	}
	if err := c.options.check(); err != nil {
		return nil, err
	}
	if c.options.Logger == nil {
		c.options.Logger = slog.Default()
	}
	c.runner = enginekit.Runner{Name: cmp.Or(c.options.Name, "clock"), Logger: c.options.Logger}
	if handler := c.options.ErrorHandler; handler != nil {
		c.runner.OnError = func(_ hwt.Timeout, err error) { handler(err) }
	}
	if c.options.CountSuspension {
		if err := c.countSuspension(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// call calls f, and reports a panic or the end of the goroutine.
func (c *Clock) call(f func()) {
	usercode.Run(f, func(err error) {
		c.failures.Add(1)
		c.report(enginekit.Func(f), err)
	})
}

// report passes err to the error handler, or logs it with the name of the failed task.
func (c *Clock) report(failed hwt.TimerTask, err error) {
	fail := hwt.TaskFunc(func(hwt.Timeout) error { return err })
	c.runner.Run(&fallbackTimer{clock: c, task: failed}, fail)
}

// arm schedules task on the timer, or on a runtime timer if the delay is short or
// the timer rejects it.
func (c *Clock) arm(task hwt.TimerTask, d time.Duration) hwt.Timeout {
	return c.armAs(task, d, d)
}

// armAs is arm for a delay that counts as short if like does.
func (c *Clock) armAs(task hwt.TimerTask, d, like time.Duration) hwt.Timeout {
	if like < c.options.RuntimeBelow {
		return c.armRuntime(task, d)
	}
	timeout, err := c.timer.NewTimeout(task, d)
	if err != nil {
		return c.fallback(task, d, err)
	}
	return timeout
}

// suits reports whether timeout is of the kind that arm would make for d, a delay other than
// the timeout's.
func (c *Clock) suits(timeout hwt.Timeout, d time.Duration) bool {
	_, runtime := timeout.(*fallbackTimer)
	return c.options.RuntimeBelow == 0 || runtime == (d < c.options.RuntimeBelow)
}

// ended reports whether timeout has expired, or the timer was stopped. An ended timeout may
// need a replacement.
func ended(timeout hwt.Timeout) bool { return timeout.IsExpired() || timeout.IsCancelled() }

// now returns the time since New, the unit of due times: by the monotonic clock or the boot
// clock.
func (c *Clock) now() time.Duration {
	if c.suspension != nil {
		return c.suspension.now()
	}
	return c.elapsed()
}

// elapsed returns the monotonic time since New.
func (c *Clock) elapsed() time.Duration { return time.Since(c.start) }

// present returns the present time.
func (c *Clock) present() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// until returns the time left until t. It is of the wall clock if t is.
func (c *Clock) until(t time.Time) time.Duration { return t.Sub(c.present()) }

// in returns the time d from now. It panics if the clock was made outside the
// synctest bubble of the caller, where the time differs.
func (c *Clock) in(d time.Duration) time.Duration {
	now := c.elapsed()
	c.bubble.Check(int64(now))
	if c.suspension != nil {
		now = c.now()
	}
	return due(now, d)
}

// due returns now plus d, or now if d is negative. It saturates.
func due(now, d time.Duration) time.Duration {
	if d > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + max(d, 0)
}

// dueTime returns due as a time.Time, given the present. As in package time, channels
// receive the time that was due, however late it is sent.
func (c *Clock) dueTime(now time.Time, due time.Duration) time.Time {
	if c.suspension != nil {
		return now.Add(due - c.now())
	}
	return now.Add(due - now.Sub(c.start))
}
