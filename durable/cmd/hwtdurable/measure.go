package main

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/check"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/measure"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/orders"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// runRoles runs a role instead of the command if this process has one.
func runRoles() {
	proc.Run(map[string]proc.Role{"fill": role(measure.Fill), "check": role(check.Run), "orders": role(orders.Run)})
}

// role decodes the configuration of a role.
func role[C any](f func(C) error) proc.Role {
	return func(text json.RawMessage) error {
		var config C
		if err := json.Unmarshal(text, &config); err != nil {
			return err
		}
		return f(config)
	}
}

// runLateness is the command lateness.
func runLateness(ctx context.Context, args []string, out, log io.Writer) error {
	flags := newFlags("lateness", log)
	var m measure.Lateness
	m.Place.Flags(flags)
	flags.BoolVar(&m.Server, "server", false, "measure on a private PostgreSQL server")
	flags.BoolVar(&m.Place.Normal, "normal", false, "sync an SQLite store every 100 ms")
	flags.IntVar(&m.Rate, "rate", 1000, "entries set and fired per second, 1 to 100000")
	flags.DurationVar(&m.For, "for", 10*time.Second, "length of the measurement, 100ms to 2h")
	flags.IntVar(&m.Workers, "workers", 1, "stores with a worker each, 1 to 16")
	flags.BoolVar(&m.Tx, "tx", false, "measure from the commit of SetTx, due now, to the handler")
	flags.IntVar(&m.Many, "many", 0, "entries due in the same second, 0 to 10000000, in place of --rate")
	if err := parse(flags, args, 0, 0, log); err != nil {
		return err
	}
	if m.Rate < 1 || m.Rate > 100_000 || m.For < 100*time.Millisecond || m.For > 2*time.Hour ||
		m.Workers < 1 || m.Workers > 16 || m.Many < 0 || m.Many > 10_000_000 {
		return wrongUsage(log, "lateness", "--rate: %d, --for: %v, --workers: %d, --many: %d (expected: 1 to 100000, 100ms to 2h, 1 to 16, 0 to 10000000)",
			m.Rate, m.For, m.Workers, m.Many)
	}
	return m.Run(ctx, out)
}

// runSize is the command size.
func runSize(ctx context.Context, args []string, out, log io.Writer) error {
	flags := newFlags("size", log)
	var m measure.Size
	m.Place.Flags(flags)
	flags.BoolVar(&m.Server, "server", false, "measure on a private PostgreSQL server")
	flags.BoolVar(&m.Place.Normal, "normal", false, "sync an SQLite store every 100 ms")
	flags.IntVar(&m.Entries, "entries", 1_000_000, "pending entries, 1000 to 100000000")
	flags.IntVar(&m.Callers, "callers", 64, "concurrent callers of each operation, 1 to 1000")
	flags.DurationVar(&m.For, "for", 3*time.Second, "time for each operation, 100ms to 1m")
	if err := parse(flags, args, 0, 0, log); err != nil {
		return err
	}
	if m.Entries < 1000 || m.Entries > 100_000_000 || m.Callers < 1 || m.Callers > 1000 || m.For < 100*time.Millisecond || m.For > time.Minute {
		return wrongUsage(log, "size", "--entries: %d, --callers: %d, --for: %v (expected: 1000 to 100000000, 1 to 1000, 100ms to 1m)",
			m.Entries, m.Callers, m.For)
	}
	return m.Run(ctx, out)
}

// runFigures is the command figures.
func runFigures(ctx context.Context, args []string, out, log io.Writer) error {
	flags := newFlags("figures", log)
	var m measure.Figures
	flags.IntVar(&m.Rounds, "rounds", 5, "rounds, 1 to 100")
	flags.IntVar(&m.Entries, "entries", 1_000_000, "entries that are pending, and due in one second, 1000 to 10000000")
	flags.DurationVar(&m.For, "for", 3*time.Second, "length of each measurement, 100ms to 1h")
	if err := parse(flags, args, 0, 0, log); err != nil {
		return err
	}
	if m.Rounds < 1 || m.Rounds > 100 || m.Entries < 1000 || m.Entries > 10_000_000 || m.For < 100*time.Millisecond || m.For > time.Hour {
		return wrongUsage(log, "figures", "--rounds: %d, --entries: %d, --for: %v (expected: 1 to 100, 1000 to 10000000, 100ms to 1h)",
			m.Rounds, m.Entries, m.For)
	}
	return m.Run(ctx, out, log)
}
