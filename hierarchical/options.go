package hierarchical

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/settings"
)

// Defaults and limits.
const (
	DefaultTickDuration  = time.Millisecond
	DefaultTicksPerWheel = 64

	// MinTickDuration is the shortest tick; a shorter one is raised to it.
	MinTickDuration = time.Millisecond

	// MinTicksPerWheel is the smallest wheel: a level of one bucket would not
	// reach further than the one below.
	MinTicksPerWheel = 2

	// MaxTicksPerWheel is the largest wheel.
	MaxTicksPerWheel = 1 << 20

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

// WithTickDuration sets the unit of time on the lowest level, which is how late
// a task may run. The default is 1 ms. It must be positive; less than 1 ms is
// raised to 1 ms, with a warning on the log.
func WithTickDuration(d time.Duration) Option {
	return func(c *config) error { return c.SetTickDuration(d) }
}

// WithTicksPerWheel sets how many buckets each level has, and so how many ticks
// of a level make one of the level above: from 2 to 2^20, not rounded. The
// default is 64. Small wheels make more levels, large ones more buckets at once;
// between 16 and 512 the difference is small.
func WithTicksPerWheel(n int) Option {
	return func(c *config) error {
		if n < MinTicksPerWheel || n > MaxTicksPerWheel {
			return c.Refuse("WithTicksPerWheel", n, fmt.Sprintf("%d to %d", MinTicksPerWheel, MaxTicksPerWheel))
		}
		c.ticksPerWheel = n
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
// The default is "hierarchical". It must not be empty.
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
		Common: settings.New("hierarchical", settings.Defaults{
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
	return c, nil
}
