package cache

import (
	"fmt"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/isnil"
)

// DefaultJitter is the share by which expiry is spread to either side.
const DefaultJitter = 0.05

// Option is a setting of New.
type Option func(*config) error

type config struct {
	limit   int // 0: none
	jitter  float64
	timer   hwt.Timer // nil: one of its own
	name    string
	exact   bool
	onEvict any // nil, or a function whose type New checks
}

// WithLimit sets how many entries the cache holds, at least 1. A Set that would
// exceed it evicts the entry that was used, by Get, Take or Set, the longest
// time ago. The default is no limit.
//
// With a limit, Get takes a lock for a moment, to note the use.
func WithLimit(n int) Option {
	return func(c *config) error {
		if n < 1 {
			return fmt.Errorf("cache: WithLimit: %d (expected: >= 1)", n)
		}
		c.limit = n
		return nil
	}
}

// WithJitter spreads expiry evenly over the share f to either side, so that
// entries set together do not expire together: with 0.05, the default, an entry
// set for a minute expires after 57 to 63 seconds. f is at least 0, which means
// no spread, and below 1.
func WithJitter(f float64) Option {
	return func(c *config) error {
		if !(f >= 0 && f < 1) {
			return fmt.Errorf("cache: WithJitter: %v (expected: 0 <= jitter < 1)", f)
		}
		c.jitter = f
		return nil
	}
}

// WithTimer puts the cache on t, which it may share with other caches and
// anything else. Close leaves t running. Without this option the cache has a
// hashed wheel of its own, with a tick of 100 ms, which Close stops.
func WithTimer(t hwt.Timer) Option {
	return func(c *config) error {
		if isnil.Of(t) {
			return fmt.Errorf("cache: WithTimer: nil (expected: a timer)")
		}
		c.timer = t
		return nil
	}
}

// WithName names the cache in logs, and its own timer. The default is "cache".
// It must not be empty.
func WithName(name string) Option {
	return func(c *config) error {
		if name == "" {
			return fmt.Errorf("cache: WithName: %q (expected: a name)", name)
		}
		c.name = name
		return nil
	}
}

// WithExactExpiry makes Get and Take look at the clock, so that they never return
// an entry whose time is over, not even by a nanosecond, and not even if the
// timer trails or was stopped. It costs a reading of the clock, which may be more
// than the rest of Get. By default the timer alone decides, which is right
// to a tick.
func WithExactExpiry() Option {
	return func(c *config) error {
		c.exact = true
		return nil
	}
}

// WithOnEvict calls f with every entry that the cache drops by itself: because
// it expired, or to keep the limit. It is not called for what Del removes, Set
// replaces, or Close leaves behind. The types must be those of the cache; New
// returns an error if they are not.
//
// f may use the cache. For an expired entry it runs where the timer runs its
// tasks, and a panic is the timer's to report; for an evicted one on the
// goroutine of the Set or Take that needed the room, and a panic is logged.
func WithOnEvict[K comparable, V any](f func(key K, value V)) Option {
	return func(c *config) error {
		if f == nil {
			return fmt.Errorf("cache: WithOnEvict: nil (expected: a function)")
		}
		c.onEvict = f
		return nil
	}
}

func newConfig(options []Option) (*config, error) {
	c := &config{jitter: DefaultJitter, name: "cache"}
	for i, option := range options {
		if option == nil {
			return nil, fmt.Errorf("cache: New: option %d is nil (expected: a With function's result)", i)
		}
		if err := option(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// onEvictOf returns the callback of WithOnEvict, or an error if it is not one
// for keys of type K and values of type V.
func onEvictOf[K comparable, V any](c *config) (func(K, V), error) {
	if c.onEvict == nil {
		return nil, nil
	}
	f, ok := c.onEvict.(func(K, V))
	if !ok {
		return nil, fmt.Errorf("cache: WithOnEvict: %T (expected: %T)", c.onEvict, f)
	}
	return f, nil
}
