package runtimetimer

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/hashedwheel/hwt"
)

// Option sets one property of a new timer.
type Option interface{ apply(*config) error }

type option func(*config) error

func (o option) apply(c *config) error { return o(c) }

// config is what the options of New add up to.
type config struct {
	name         string
	maxPending   int64
	executor     hwt.Executor
	logger       *slog.Logger
	errorHandler func(hwt.Timeout, error)
}

func configure(options []Option) (config, error) {
	c := config{name: "runtimetimer", logger: slog.Default()}
	for i, o := range options {
		if o == nil {
			return c, fmt.Errorf("runtimetimer: New: option %d is nil (expected: a With function's result)", i)
		}
		if err := o.apply(&c); err != nil {
			return c, err
		}
	}
	return c, nil
}

// WithMaxPendingTimeouts limits how many timeouts may be pending at once: that
// many are accepted, and NewTimeout refuses one more with an
// *hwt.PendingLimitError. Zero, the default, or less means no limit.
func WithMaxPendingTimeouts(limit int64) Option {
	return option(func(c *config) error {
		c.maxPending = limit
		return nil
	})
}

// WithExecutor hands tasks, and the callbacks of hwt.CancelledTask, to executor.
// Its Execute is called on a goroutine of the timeout's own, so it may block.
// The default is to run them on that goroutine. A nil executor is an error.
func WithExecutor(executor hwt.Executor) Option {
	return option(func(c *config) error {
		if executor == nil {
			return errors.New("runtimetimer: WithExecutor: nil (expected: an executor)")
		}
		c.executor = executor
		return nil
	})
}

// WithLogger sets where failing tasks are reported if there is no error
// handler. The default is slog.Default() at the time of New. A nil logger is an
// error.
func WithLogger(logger *slog.Logger) Option {
	return option(func(c *config) error {
		if logger == nil {
			return errors.New("runtimetimer: WithLogger: nil (expected: a logger)")
		}
		c.logger = logger
		return nil
	})
}

// WithErrorHandler sets what is told of a task that returned an error, panicked
// (an *hwt.PanicError), ended its goroutine or was refused by the executor. It
// is called on the goroutine where that happened, also from several at once.
// The default is to log at level Error. A nil handler is an error.
func WithErrorHandler(handler func(timeout hwt.Timeout, err error)) Option {
	return option(func(c *config) error {
		if handler == nil {
			return errors.New("runtimetimer: WithErrorHandler: nil (expected: a function)")
		}
		c.errorHandler = handler
		return nil
	})
}

// WithName names the timer in logs and in its String. The default is
// "runtimetimer". An empty name is an error.
func WithName(name string) Option {
	return option(func(c *config) error {
		if name == "" {
			return errors.New(`runtimetimer: WithName: "" (expected: a name)`)
		}
		c.name = name
		return nil
	})
}
