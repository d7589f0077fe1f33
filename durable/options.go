package durable

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/hashedwheel/hwt/clock"
)

// Options are the settings of a [Store] that are the same for every database. The zero
// value of each field is its default.
type Options struct {
	// Name is the store's name on the live page and in logs. "" is the default, "timers".
	Name string

	// Lease is the time after which other workers take over the entries of a worker that
	// has stopped renewing its lease: 1 s to 10 min. 0 is the default, 5 s.
	Lease time.Duration

	// KeepDead is the age from which workers delete dead letters: 1 min to 10 years. They look once
	// per hour, or once per KeepDead if that is shorter, and read all dead letters then. 0 is the
	// default: dead letters stay.
	KeepDead time.Duration

	// Paused is a reason for which Open pauses all entries of the store before it returns, as
	// [Store.Pause] does, until [Store.Resume] of Scope.All: for example for a restored or a
	// staging copy, so that nothing fires there by accident. It has up to 1,024 bytes. "" is the default:
	// Open pauses nothing, and a pause stays as it is.
	Paused string

	// Logger receives warnings. nil is the default: slog.Default at the time of Open.
	Logger *slog.Logger
}

const maxPauseText = 1024

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
	if len(c.Paused) > maxPauseText {
		return c, refuse("Options.Paused", fmt.Sprintf("%.32q of %d bytes", c.Paused, len(c.Paused)), "up to 1024 bytes")
	}
	if c.KeepDead != 0 && (c.KeepDead < time.Minute || c.KeepDead > 10*365*24*time.Hour) {
		return c, refuse("Options.KeepDead", c.KeepDead, "0 for no limit, or 1m to 87600h")
	}
	return c, nil
}

// WorkOptions are the settings of one Work. The zero value of each field is its default.
type WorkOptions struct {
	// Concurrency is the number of handlers that run concurrently, 1 to 100,000. 0 is the
	// default, 64.
	Concurrency int

	// MaxHeld is the number of entries in memory, from shortly before their due times
	// until they are done: 1 to 10,000,000. 0 is the default, 50,000. A held entry takes
	// about 500 bytes, its payload, and its headers. A backlog drains by up to MaxHeld entries
	// per look at the database: four looks per second on SQLite, and two on PostgreSQL. A
	// group of entries holds up to an eighth of MaxHeld, or 8 entries per handler if that is more, and
	// half of MaxHeld at most.
	MaxHeld int

	// MaxAttempts is the number of attempts before an entry becomes a dead letter. 0 is
	// the default, 25. Negative means no limit. An attempt does not count if the handler
	// returns Postpone, or if the process dies or loses its lease before its outcome is stored. It does not
	// count either if the handler returns another error after its context has ended, unless that is a
	// GiveUp: the entry is then due immediately for the next worker.
	MaxAttempts int

	// Timeout is the time limit of an attempt: 1 ms to 365 days. 0 is the default, no limit. At
	// the end of Timeout, the handler's context ends with the cause [ErrTimeout]. An error that
	// the handler then returns is a failed attempt. A handler that runs for a second more is
	// logged once, with its key and stack, and counted in Stats.Overtime. It occupies one of the
	// goroutines of its kind until it returns.
	Timeout time.Duration

	// Serial makes a claim wait while another firing of the same key is claimed, by any worker: at most
	// one handler of a key runs at a time, if all workers of the key set Serial. A worker that is
	// paused beyond its lease may still run a handler. The Generation of a Firing fences it. A
	// waiting retry does not count as a firing. Every.Overlap does not matter then.
	Serial bool

	// MaxCrashes is the number of workers that may die with an entry, by a crash, an OOM kill, or the
	// loss of their leases. The entry then becomes a dead letter with the Reason Crashed. 0 is the
	// default, 5. Negative means no limit. The first death counts for all entries that the worker had
	// claimed: with 1, all of them become dead letters. The second counts for up to a hundred of them
	// that are tried together, unless MaxCrashes is 2. Further ones count only for entries whose handlers
	// ran. Until its trial, an entry stays claimed.
	MaxCrashes int

	// OnOutcome, if it is not nil, is called with the end of each attempt that counts: its success, its
	// failure, or the end of the entry as a dead letter. It is also called for an entry that becomes a dead letter without
	// an attempt, as after its NotAfter or MaxCrashes; Began of the run is then zero. It is not called for
	// an attempt that does not count: one that is postponed or interrupted, see MaxAttempts. After the commit of Tx.Done,
	// OnOutcome gets a success, whatever the handler returns. If the lease has ended or the database does not answer,
	// OnOutcome gets the handler's error. OnOutcome is for an audit table, for example: the call
	// comes before the outcome is stored, outside of a transaction in which the handler has called Tx.Done.
	// If the worker dies or loses its lease between the two, the attempt is repeated, and OnOutcome is called again
	// with the same ID and Attempt.
	//
	// OnOutcome runs in the goroutine of the handler: until it returns, the outcome is not stored. Its context has
	// the values of Work's, and ends when the worker loses its lease or stops waiting for handlers. A panic of
	// OnOutcome is logged.
	OnOutcome func(ctx context.Context, e Ended)

	// BaseBackoff and MaxBackoff determine the pause between attempts: after attempt n it
	// is random between 0 and BaseBackoff times 2^(n-1), but at most MaxBackoff. The
	// defaults are 1 s and 10 min, or BaseBackoff if that is longer.
	BaseBackoff, MaxBackoff time.Duration

	// Schedules resolves the names of recurring entries without a Spec. An entry with a name
	// that is missing here is left to other workers. Next of a schedule must be quick: the
	// other entries of the Work wait for it.
	Schedules map[string]clock.Schedule

	// DrainTimeout is the time between the end of Work's context and the end of its
	// handlers' contexts. 0 is the default, 8 s. If it is negative, both end together.
	// Work returns only after all handlers have returned.
	//
	// Set it to less than the time after which the platform kills the process, 10 s for docker stop and
	// 30 s for Kubernetes: a kill counts as a crash of the entries whose handlers run.
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
	c.MaxCrashes = cmp.Or(c.MaxCrashes, 5)
	c.BaseBackoff = cmp.Or(c.BaseBackoff, time.Second)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, max(10*time.Minute, c.BaseBackoff))
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 8*time.Second)
	for name, schedule := range c.Schedules {
		if schedule == nil {
			return c, refuse("WorkOptions.Schedules", fmt.Sprintf("%.64q: nil", name), "a schedule")
		}
	}
	switch {
	case c.Concurrency < 1 || c.Concurrency > 100_000:
		return c, refuse("WorkOptions.Concurrency", c.Concurrency, "0 for the default, or 1 to 100000")
	case c.MaxHeld < 1 || c.MaxHeld > 10_000_000:
		return c, refuse("WorkOptions.MaxHeld", c.MaxHeld, "0 for the default, or 1 to 10000000")
	case c.Timeout != 0 && c.Timeout < time.Millisecond || c.Timeout > 365*24*time.Hour:
		return c, refuse("WorkOptions.Timeout", c.Timeout, "0 for no limit, or 1ms to 8760h")
	case c.BaseBackoff < 0 || c.BaseBackoff > 24*time.Hour:
		return c, refuse("WorkOptions.BaseBackoff", c.BaseBackoff, "0 for the default, or up to 24h")
	case c.MaxBackoff < c.BaseBackoff || c.MaxBackoff > 365*24*time.Hour:
		return c, refuse("WorkOptions.MaxBackoff", c.MaxBackoff, "0 for the default, or BaseBackoff to 8760h")
	}
	return c, nil
}

func refuse(field string, value any, expected string) error {
	return fmt.Errorf("durable: %w: %s: %v (expected: %s)", ErrInvalid, field, value, expected)
}
