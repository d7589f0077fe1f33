package main

import (
	"context"
	"io"
	"time"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/check"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/measure"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// runRoles runs a role instead of the command if this process has one.
func runRoles() {
	proc.Run(map[string]proc.Role{"fill": proc.Of(measure.Fill), "check": proc.Of(check.Run)})
}

// runLateness is the command lateness.
func runLateness(ctx context.Context, args []string, out, log io.Writer) error {
	flags := newFlags("lateness", log)
	var m measure.Lateness
	m.Place.Flags(flags)
	flags.Lookup("store").Usage = "a new `file` for an SQLite store, in place of a temporary one"
	flags.Lookup("schema").Usage = "a new schema for the store in PostgreSQL"
	flags.BoolVar(&m.Server, "server", false, "measure on a private PostgreSQL server")
	flags.BoolVar(&m.Place.Normal, "normal", false, "sync an SQLite store every 100 ms")
	number(flags, &m.Rate, "rate", 1000, 1, 100_000, "entries set and fired per second")
	span(flags, &m.For, "for", 10*time.Second, 100*time.Millisecond, 2*time.Hour, "length of the measurement")
	number(flags, &m.Workers, "workers", 1, 1, 16, "stores with a worker each")
	if err := parse(flags, args, log); err != nil {
		return err
	}
	sqlite, postgres := m.Place.File != "" || m.Place.Normal, m.Server || m.Place.URL != ""
	if sqlite && postgres || m.Server && m.Place.URL != "" {
		return wrongUsage(log, "lateness", "--server, --postgres, and --store or --normal exclude each other")
	}
	return m.Run(ctx, out)
}

// runFigures is the command figures.
func runFigures(ctx context.Context, args []string, out, log io.Writer) error {
	flags := newFlags("figures", log)
	var m measure.Figures
	number(flags, &m.Rounds, "rounds", 5, 1, 100, "rounds")
	number(flags, &m.Entries, "entries", 1_000_000, 1000, 10_000_000, "entries that are pending, and due in one second; with --kinds, due entries without a handler")
	flags.BoolVar(&m.Kinds, "kinds", false, "measure the table of docs/queues.md: kinds, groups, and dead letters")
	span(flags, &m.For, "for", 3*time.Second, 100*time.Millisecond, time.Hour, "length of each measurement")
	if err := parse(flags, args, log); err != nil {
		return err
	}
	return m.Run(ctx, out, log)
}
