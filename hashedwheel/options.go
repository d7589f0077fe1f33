package hashedwheel

import (
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/settings"
)

// Defaults and limits, which are Netty's.
const (
	DefaultTickDuration  = 100 * time.Millisecond
	DefaultTicksPerWheel = 512

	// MinTickDuration is the shortest tick; a shorter one is raised to it.
	MinTickDuration = time.Millisecond

	// MaxTicksPerWheel is the longest wheel: 2^30 buckets, or 2^26 where int has
	// 32 bits, since more would not fit into the memory of such a machine.
	MaxTicksPerWheel = min(1<<30, math.MaxInt/32+1)

	// DefaultSlowTaskTicks is how many ticks a task may hold the worker before
	// it counts as slow.
	DefaultSlowTaskTicks = 10

	// DefaultStopTimeout is how long Stop waits for a task that is running.
	DefaultStopTimeout = 5 * time.Second
)

// Option is a setting of New.
type Option func(*config) error

type config struct {
	settings.Common
	ticksPerWheel int
}

// WithTickDuration sets how often the wheel turns, which is how late a task may
// run. The default is 100 ms. It must be positive; less than 1 ms is raised to
// 1 ms, with a warning on the log.
func WithTickDuration(d time.Duration) Option {
	return func(c *config) error { return c.SetTickDuration(d) }
}

// WithTicksPerWheel sets how many buckets the wheel has, from 1 to
// MaxTicksPerWheel; the number is rounded up to a power of two. The default is
// 512. A bucket costs 12 bytes. One rotation (tick duration × ticks per wheel)
// that is no shorter than the usual delay is ideal; many times longer delays are
// fine.
func WithTicksPerWheel(n int) Option {
	return func(c *config) error {
		if n < 1 || n > MaxTicksPerWheel {
			return c.Refuse("WithTicksPerWheel", n, fmt.Sprintf("1 to %d", MaxTicksPerWheel))
		}
		c.ticksPerWheel = 1 << bits.Len(uint(n-1))
		return nil
	}
}

// WithMaxPendingTimeouts makes NewTimeout refuse what would exceed n pending
// timeouts, with a *hwt.PendingLimitError. Zero or less, the default, means no
// limit. With a limit, all callers count on one shared word, which costs some
// of the speed on many processors.
//
// The place of a timeout that ends is free once its Cancel has returned, or its
// task begins; Pending may have fallen a moment sooner.
func WithMaxPendingTimeouts(n int64) Option {
	return func(c *config) error { return c.SetMaxPendingTimeouts(n) }
}

// WithExecutor runs tasks on e. By default they run on the worker, one after
// another, so that they should be short. The timer never shuts e down.
func WithExecutor(e hwt.Executor) Option {
	return func(c *config) error { return c.SetExecutor(e) }
}

// WithLogger sets where the timer logs warnings and the errors of tasks. The
// default is slog.Default at the time of New.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) error { return c.SetLogger(l) }
}

// WithErrorHandler calls f with the errors that tasks return, with a
// *hwt.PanicError if one panics, and with the executor's refusals. f runs where
// the task ran. The default logs them.
func WithErrorHandler(f func(timeout hwt.Timeout, err error)) Option {
	return func(c *config) error { return c.SetErrorHandler(f) }
}

// WithName names the timer in logs and in the pprof label "hwt" of its worker.
// The default is "hashedwheel". It must not be empty.
func WithName(name string) Option {
	return func(c *config) error { return c.SetName(name) }
}

// WithSlowTaskThreshold sets for how long a task may hold the worker before it
// is counted as slow and, at most once a minute, logged with its type: already
// while it runs. The default is ten ticks; zero means never. It must not be
// negative.
func WithSlowTaskThreshold(d time.Duration) Option {
	return func(c *config) error { return c.SetSlowTaskThreshold(d) }
}

// WithStopTimeout sets how long Stop waits for a task that occupies the worker.
// The default is five seconds; zero means not at all. It must not be negative.
func WithStopTimeout(d time.Duration) Option {
	return func(c *config) error { return c.SetStopTimeout(d) }
}

// WithLeakDetection says whether a timer that is dropped without Stop is
// reported, with the place that made it; see package leak for the levels and
// where reports go. The default is true. It costs a microsecond in New and
// nothing in NewTimeout.
//
// Whatever it says, the worker of such a timer ends, as soon as the garbage
// collector found that nobody refers to the timer and nothing is pending. (An
// error handler or executor that refers to the timer keeps it alive.)
func WithLeakDetection(on bool) Option {
	return func(c *config) error { return c.SetLeakDetection(on) }
}

func newConfig(options []Option) (*config, error) {
	c := &config{
		Common: settings.New("hashedwheel", settings.Defaults{
			Tick:          DefaultTickDuration,
			MinTick:       MinTickDuration,
			SlowTaskTicks: DefaultSlowTaskTicks,
			StopTimeout:   DefaultStopTimeout,
		}),
		ticksPerWheel: DefaultTicksPerWheel,
	}
	if err := settings.Apply(c.Engine, c, options); err != nil {
		return nil, err
	}
	c.Complete()
	if limit := math.MaxInt64 / time.Duration(c.ticksPerWheel); c.Tick >= limit {
		return nil, fmt.Errorf("hashedwheel: WithTickDuration: %v (expected: 0 < tick duration < %v, "+
			"since %d ticks must stay below the largest int64 of nanoseconds)", c.Tick, limit, c.ticksPerWheel)
	}
	return c, nil
}
