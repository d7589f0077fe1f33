// Package settings is what the wheel engines' options have in common: the
// values, their checks, and the words of the errors. An engine's With functions
// document them and call the setters here.
package settings

import (
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine"
	"github.com/hashedwheel/hwt/internal/task"
	"github.com/hashedwheel/hwt/leak"
)

// Defaults are what an engine sets apart from its users' options.
type Defaults struct {
	Tick          time.Duration
	MinTick       time.Duration // a shorter tick is raised to it
	SlowTaskTicks int64         // the slow-task threshold, in ticks
	StopTimeout   time.Duration
}

// Common holds the settings. Make it with New.
type Common struct {
	Engine        string // the engine's package, which every error begins with
	Name          string
	Tick          time.Duration
	LeakDetection bool

	defaults    Defaults
	maxPending  int64
	slowTask    time.Duration // negative: the default
	stopTimeout time.Duration
	executor    hwt.Executor
	logger      *slog.Logger
	onError     func(hwt.Timeout, error)
}

// New returns the defaults. Timers are named for their engine.
func New(engine string, d Defaults) Common {
	return Common{
		Engine:        engine,
		Name:          engine,
		Tick:          d.Tick,
		LeakDetection: true,
		defaults:      d,
		slowTask:      -1,
		stopTimeout:   d.StopTimeout,
	}
}

// Apply applies the options to c, up to the first that fails.
func Apply[C any, O ~func(*C) error](engine string, c *C, options []O) error {
	for i, option := range options {
		if option == nil {
			return fmt.Errorf("%s: New: option %d is nil (expected: a With function's result)", engine, i)
		}
		if err := option(c); err != nil {
			return err
		}
	}
	return nil
}

// Refuse returns the error for a value that an option does not take.
func (c *Common) Refuse(option string, value any, expected string) error {
	return fmt.Errorf("%s: %s: %v (expected: %s)", c.Engine, option, value, expected)
}

// SetTickDuration is WithTickDuration.
func (c *Common) SetTickDuration(d time.Duration) error {
	if d <= 0 {
		return c.Refuse("WithTickDuration", d, "> 0")
	}
	c.Tick = d
	return nil
}

// SetMaxPendingTimeouts is WithMaxPendingTimeouts.
func (c *Common) SetMaxPendingTimeouts(n int64) error {
	c.maxPending = max(n, 0)
	return nil
}

// SetExecutor is WithExecutor.
func (c *Common) SetExecutor(e hwt.Executor) error {
	if e == nil {
		return c.Refuse("WithExecutor", "nil", "an executor")
	}
	c.executor = e
	return nil
}

// SetLogger is WithLogger.
func (c *Common) SetLogger(l *slog.Logger) error {
	if l == nil {
		return c.Refuse("WithLogger", "nil", "a logger")
	}
	c.logger = l
	return nil
}

// SetErrorHandler is WithErrorHandler.
func (c *Common) SetErrorHandler(f func(hwt.Timeout, error)) error {
	if f == nil {
		return c.Refuse("WithErrorHandler", "nil", "a function")
	}
	c.onError = f
	return nil
}

// SetName is WithName.
func (c *Common) SetName(name string) error {
	if name == "" {
		return c.Refuse("WithName", `""`, "a name")
	}
	c.Name = name
	return nil
}

// SetSlowTaskThreshold is WithSlowTaskThreshold.
func (c *Common) SetSlowTaskThreshold(d time.Duration) error {
	if d < 0 {
		return c.Refuse("WithSlowTaskThreshold", d, ">= 0")
	}
	c.slowTask = d
	return nil
}

// SetStopTimeout is WithStopTimeout.
func (c *Common) SetStopTimeout(d time.Duration) error {
	if d < 0 {
		return c.Refuse("WithStopTimeout", d, ">= 0")
	}
	c.stopTimeout = d
	return nil
}

// SetLeakDetection is WithLeakDetection.
func (c *Common) SetLeakDetection(on bool) error {
	c.LeakDetection = on
	return nil
}

// Complete fills in what depends on several settings. It warns of a tick that
// it had to raise.
func (c *Common) Complete() {
	if c.logger == nil {
		c.logger = slog.Default()
	}
	if shortest := c.defaults.MinTick; c.Tick < shortest {
		c.logger.Warn(c.Engine+": tick duration raised to the shortest possible",
			"timer", c.Name, "asked", c.Tick, "tick", shortest)
		c.Tick = shortest
	}
	if n := c.defaults.SlowTaskTicks; c.slowTask < 0 {
		c.slowTask = min(c.Tick, math.MaxInt64/time.Duration(n)) * time.Duration(n)
	}
}

// Core returns the settings as package engine wants them, for a timer on
// wheel that tracker watches, if it is not nil.
func (c *Common) Core(wheel engine.Wheel, tracker *leak.Tracker) engine.Config {
	return engine.Config{
		Tick:       c.Tick,
		MaxPending: c.maxPending,
		SlowTask:   c.slowTask,
		StopWait:   c.stopTimeout,
		Wheel:      wheel,
		Tracker:    tracker,
		Runner:     &task.Runner{Name: c.Name, Executor: c.executor, Logger: c.logger, OnError: c.onError},
	}
}
