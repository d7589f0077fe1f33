package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/hashedwheel/hwt/durable/embedded/cmd/hwtdurable/internal/measure"
)

// runLateness is the command lateness.
func runLateness(ctx context.Context, args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("lateness", flag.ContinueOnError)
	flags.SetOutput(log)
	var m measure.Lateness
	flags.IntVar(&m.Rate, "rate", 1000, "timers due a second, 1 to 100000")
	flags.DurationVar(&m.For, "for", 8*time.Second, "for how long, 1s to 1h")
	flags.IntVar(&m.Shards, "shards", 4, "over how many shards, 1 to 256")
	flags.BoolVar(&m.Cluster, "cluster", false, "three nodes and replicas, all in this process")
	if err := parse(flags, args, 0, log); err != nil {
		return err
	}
	if m.Rate < 1 || m.Rate > 100_000 || m.For < time.Second || m.For > time.Hour || m.Shards < 1 || m.Shards > 256 {
		fmt.Fprintf(log, "hwtdurable lateness: --rate: %d, --for: %v, --shards: %d (expected: 1 to 100000, 1s to 1h, 1 to 256)\n",
			m.Rate, m.For, m.Shards)
		return errUsage
	}
	return m.Run(ctx, out)
}

// runSize is the command size.
func runSize(ctx context.Context, args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("size", flag.ContinueOnError)
	flags.SetOutput(log)
	var m measure.Size
	flags.IntVar(&m.Timers, "timers", 1_000_000, "how many timers are pending, 1 to 100000000")
	flags.IntVar(&m.Shards, "shards", 4, "over how many shards, 1 to 256")
	flags.IntVar(&m.Ops, "ops", 10_000, "how many of them to get, move, cancel and set, 1 or more")
	if err := parse(flags, args, 0, log); err != nil {
		return err
	}
	if m.Timers < 1 || m.Timers > 100_000_000 || m.Shards < 1 || m.Shards > 256 || m.Ops < 1 {
		fmt.Fprintf(log, "hwtdurable size: --timers: %d, --shards: %d, --ops: %d (expected: 1 to 100000000, 1 to 256, 1 or more)\n",
			m.Timers, m.Shards, m.Ops)
		return errUsage
	}
	return m.Run(ctx, out)
}
