package keyed

import "fmt"

// DefaultDrainWorkers is how many callbacks of one Drain run at a time, as in
// go-zero.
const DefaultDrainWorkers = 8

// Option is a setting of New.
type Option func(*config) error

type config struct {
	drainWorkers int
}

// WithDrainWorkers sets how many callbacks of one Drain run at a time, at least
// 1. The default is 8.
func WithDrainWorkers(n int) Option {
	return func(c *config) error {
		if n < 1 {
			return fmt.Errorf("keyed: WithDrainWorkers: %d (expected: >= 1)", n)
		}
		c.drainWorkers = n
		return nil
	}
}

func newConfig(options []Option) (*config, error) {
	c := &config{drainWorkers: DefaultDrainWorkers}
	for i, option := range options {
		if option == nil {
			return nil, fmt.Errorf("keyed: New: option %d is nil (expected: a With function's result)", i)
		}
		if err := option(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}
