package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/clock"
)

// Handler is called for each entry at its due time. If it returns nil, the entry is done.
// If it returns an error, panics, or calls runtime.Goexit, the entry fires again later
// with the same ID. The context has the values of Work's. It ends when Work stops waiting for
// the handler, or when the worker loses its lease. A handler that then returns an error has not
// failed: see WorkOptions.MaxAttempts.
type Handler func(ctx context.Context, f Firing) error

// WorkOptions are the settings of one Work. The zero value of each field is its default.
type WorkOptions struct {
	// Concurrency is the number of handlers that run concurrently, 1 to 100,000. 0 is the
	// default, 64.
	Concurrency int

	// MaxHeld is the number of entries in memory, from shortly before their due times
	// until they are done: 1 to 10,000,000. 0 is the default, 50,000. A held entry takes
	// about 500 bytes, its payload, and its headers. A backlog drains by up to MaxHeld entries per look at
	// the database: four looks per second on SQLite, and two on PostgreSQL.
	MaxHeld int

	// MaxAttempts is the number of attempts before an entry becomes a dead letter. 0 is
	// the default, 25. Negative means no limit. An attempt does not count if the process
	// dies or loses its lease before its outcome is stored. It does not count either if the
	// handler returns an error after its context has ended, unless that is a GiveUp: the
	// entry is then due immediately for the next worker.
	MaxAttempts int

	// BaseBackoff and MaxBackoff determine the pause between attempts: after attempt n it
	// is random between 0 and BaseBackoff times 2^(n-1), but at most MaxBackoff. The
	// defaults are 1 s and 10 min, or BaseBackoff if that is longer.
	BaseBackoff, MaxBackoff time.Duration

	// Schedules resolves the names of recurring entries without a Spec. An entry whose
	// name is missing here is left to other workers. Next of a schedule must be quick: the
	// other entries of the Work wait for it.
	Schedules map[string]clock.Schedule

	// DrainTimeout is the time between the end of Work's context and the end of its
	// handlers' contexts. 0 is the default, 30 s. If it is negative, both end together.
	// Work returns only after all handlers have returned.
	DrainTimeout time.Duration
}

func (o *WorkOptions) complete() (WorkOptions, error) {
	var c WorkOptions
	if o != nil {
		c = *o
	}
	c.Concurrency = cmp.Or(c.Concurrency, 64)
	c.MaxHeld = cmp.Or(c.MaxHeld, 50_000)
	c.MaxAttempts = cmp.Or(c.MaxAttempts, 25)
	c.BaseBackoff = cmp.Or(c.BaseBackoff, time.Second)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, max(10*time.Minute, c.BaseBackoff))
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 30*time.Second)
	switch {
	case c.Concurrency < 1 || c.Concurrency > 100_000:
		return c, refuse("WorkOptions.Concurrency", c.Concurrency, "0 for the default, or 1 to 100000")
	case c.MaxHeld < 1 || c.MaxHeld > 10_000_000:
		return c, refuse("WorkOptions.MaxHeld", c.MaxHeld, "0 for the default, or 1 to 10000000")
	case c.BaseBackoff < 0 || c.BaseBackoff > 24*time.Hour:
		return c, refuse("WorkOptions.BaseBackoff", c.BaseBackoff, "0 for the default, or up to 24h")
	case c.MaxBackoff < c.BaseBackoff || c.MaxBackoff > 365*24*time.Hour:
		return c, refuse("WorkOptions.MaxBackoff", c.MaxBackoff, "0 for the default, or BaseBackoff to 8760h")
	}
	return c, nil
}

// Work calls handler for each entry at its due time until ctx ends, the store is closed, or
// the database closes itself, as SQLite does after a disk error. It then fires the entries
// that it has claimed, releases the others, waits for running handlers, and returns nil or
// ErrClosed. Any number of calls of Work may run, in one process or in several; each entry
// fires in one of them. Other database errors are logged and retried; they do not end
// Work.
func (s *Store) Work(ctx context.Context, handler Handler, options *WorkOptions) error {
	if handler == nil {
		return fmt.Errorf("durable: Work: %w", invalid("handler nil (expected: a function)"))
	}
	o, err := options.complete()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w, err := newWorker(ctx, s, handler, o, cancel)
	if err != nil {
		return fmt.Errorf("durable: Work: %w", err)
	}
	if !s.enlist(w) {
		return fmt.Errorf("durable: Work: %w", ErrClosed)
	}
	defer s.discharge(w)
	w.run(ctx)
	if errors.Is(context.Cause(ctx), ErrClosed) {
		return fmt.Errorf("durable: Work: %w", ErrClosed)
	}
	return nil
}
