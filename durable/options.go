package durable

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"
)

// Options are the settings of a [Store] that are the same for every database. The zero
// value of each field is its default.
type Options struct {
	// Name is the store's name on the live page and in logs. "" is the default, "timers".
	Name string

	// Lease is the time after which other workers take over the entries of a worker that
	// has stopped renewing its lease: 1 s to 10 min. 0 is the default, 5 s.
	Lease time.Duration

	// Logger receives warnings. nil is the default: slog.Default at the time of Open.
	Logger *slog.Logger
}

func (o *Options) complete() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	c.Name = cmp.Or(c.Name, "timers")
	c.Lease = cmp.Or(c.Lease, 5*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Lease < time.Second || c.Lease > 10*time.Minute {
		return c, refuse("Options.Lease", c.Lease, "0 for the default, or 1s to 10m")
	}
	return c, nil
}

func refuse(field string, value any, expected string) error {
	return fmt.Errorf("durable: %w: %s: %v (expected: %s)", ErrInvalid, field, value, expected)
}
