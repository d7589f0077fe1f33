package idle

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Activity says which operations of a wrapped connection count.
type Activity uint8

// The kinds of activity.
const (
	Reads  Activity = 1 << iota // reads that brought at least a byte
	Writes                      // writes that took at least a byte
)

// Option is a setting of NewReaper.
type Option func(*config) error

type config struct {
	activity  Activity
	onIdle    func(Event)
	onError   func(error)
	timeoutOf func(io.Closer) time.Duration
	maxAge    time.Duration
	closeAll  bool
	logger    *slog.Logger
}

// WithActivity sets which operations of a wrapped connection count as activity:
// Reads, Writes, or both, Reads|Writes, which is the default. With Reads alone a
// peer that takes what it is sent and never says anything is closed.
func WithActivity(a Activity) Option {
	return func(c *config) error {
		if a == 0 || a&^(Reads|Writes) != 0 {
			return fmt.Errorf("idle: WithActivity: %d (expected: Reads, Writes or Reads|Writes)", a)
		}
		c.activity = a
		return nil
	}
}

// WithOnIdle calls f before something is closed for being idle or too old. It
// is then too late for a touch. f runs where the close will: not on the timer's
// worker, and several calls may run at the same time. If it panics or ends its
// goroutine, that is reported, and the close follows all the same.
func WithOnIdle(f func(Event)) Option {
	return func(c *config) error {
		if f == nil {
			return errors.New("idle: WithOnIdle: nil (expected: a function)")
		}
		c.onIdle = f
		return nil
	}
}

// WithTimeoutOf calls f for each connection given to Wrap and each thing given
// to Watch, for its own idle timeout. Zero or less means the reaper's. See also
// Watch.SetTimeout.
func WithTimeoutOf(f func(what io.Closer) time.Duration) Option {
	return func(c *config) error {
		if f == nil {
			return errors.New("idle: WithTimeoutOf: nil (expected: a function)")
		}
		c.timeoutOf = f
		return nil
	}
}

// WithMaxAge closes everything that is older than d, however busy: no earlier,
// and no later than one tick more. Its reads then return ErrTooOld. By default
// there is no such limit. d must be positive.
func WithMaxAge(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return fmt.Errorf("idle: WithMaxAge: %v (expected: > 0)", d)
		}
		c.maxAge = d
		return nil
	}
}

// WithCloseAll makes Reaper.Close close everything that is watched, and what is
// given to the reaper later. The default is to let go of it, open.
func WithCloseAll() Option {
	return func(c *config) error {
		c.closeAll = true
		return nil
	}
}

// WithErrorHandler calls f with a *hwt.PanicError, wrapped, for a callback or a
// Close that panics, with the errors that Close returns but for net.ErrClosed,
// and with those of the timer when it refuses a timeout: hwt.ErrTooManyPending
// means that one of Go's own timers stands in, any other, such as hwt.ErrStopped,
// that something is not watched any more. f must not block: it may run on the
// timer's worker, or in Wrap. The default logs panics, and the first refusal.
func WithErrorHandler(f func(error)) Option {
	return func(c *config) error {
		if f == nil {
			return errors.New("idle: WithErrorHandler: nil (expected: a function)")
		}
		c.onError = f
		return nil
	}
}

func newConfig(options []Option) (config, error) {
	c := config{activity: Reads | Writes, maxAge: never, logger: slog.Default()}
	for i, option := range options {
		if option == nil {
			return c, fmt.Errorf("idle: NewReaper: option %d is nil (expected: a With function's result)", i)
		}
		if err := option(&c); err != nil {
			return c, err
		}
	}
	return c, nil
}
