package main

import (
	"context"
	"flag"
	"io"
	"time"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/check"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/measure"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// runRoles runs a role instead of the command if this process has one.
func runRoles() {
	proc.Run(map[string]proc.Role{"fill": proc.Of(measure.Fill), "check": proc.Of(check.Run)})
}

// placeFlags adds the flags of a store to measure.
func placeFlags(flags *flag.FlagSet, p *place.Place, server *bool) {
	p.Flags(flags)
	flags.Lookup("store").Usage = "a new `file` for an SQLite store, in place of a temporary one"
	flags.Lookup("schema").Usage = "a new schema for the store in PostgreSQL"
	flags.BoolVar(server, "server", false, "measure on a private PostgreSQL server")
	flags.BoolVar(&p.Normal, "normal", false, "sync an SQLite store every 100 ms")
}

// parsePlace parses the flags of a measurement that has those of placeFlags.
func parsePlace(flags *flag.FlagSet, args []string, p *place.Place, server *bool, log io.Writer) error {
	err := parse(flags, args, log)
	sqlite, postgres := p.File != "" || p.Normal, *server || p.URL != ""
	if err == nil && (sqlite && postgres || *server && p.URL != "") {
		err = wrongUsage(log, flags.Name(), "--server, --postgres, and --store or --normal exclude each other")
	}
	return err
}

// runLateness is the command lateness.
func runLateness(ctx context.Context, args []string, out, log io.Writer) error {
	flags := newFlags("lateness", log)
	var m measure.Lateness
	placeFlags(flags, &m.Place, &m.Server)
	number(flags, &m.Rate, "rate", 1000, 1, 100_000, "entries set and fired per second")
	span(flags, &m.For, "for", 10*time.Second, 100*time.Millisecond, 2*time.Hour, "length of the measurement")
	number(flags, &m.Workers, "workers", 1, 1, 16, "stores with a worker each")
	flags.BoolVar(&m.Tx, "tx", false, "measure from the commit of a Set, due now, to the handler")
	number(flags, &m.Many, "many", 0, 0, 10_000_000, "entries due in the same second in place of --rate")
	if err := parsePlace(flags, args, &m.Place, &m.Server, log); err != nil {
		return err
	}
	if m.Tx && m.Many > 0 {
		return wrongUsage(log, "lateness", "--tx and --many exclude each other")
	}
	return m.Run(ctx, out)
}

// runSize is the command size.
func runSize(ctx context.Context, args []string, out, log io.Writer) error {
	flags := newFlags("size", log)
	var m measure.Size
	placeFlags(flags, &m.Place, &m.Server)
	number(flags, &m.Entries, "entries", 1_000_000, 1000, 100_000_000, "pending entries")
	number(flags, &m.Callers, "callers", 64, 1, 1000, "concurrent callers of each operation")
	span(flags, &m.For, "for", 3*time.Second, 100*time.Millisecond, time.Minute, "time for each operation")
	if err := parsePlace(flags, args, &m.Place, &m.Server, log); err != nil {
		return err
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
