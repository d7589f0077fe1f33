package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/hashedwheel/hwt/durable/embedded/cmd/hwtdurable/internal/orders"
	"github.com/hashedwheel/hwt/internal/cli"
)

// runOrders is the command orders.
func runOrders(ctx context.Context, args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("orders", flag.ContinueOnError)
	flags.SetOutput(log)
	var o orders.Options
	flags.IntVar(&o.Orders, "orders", 100_000, "how many orders, 1 to 10000000")
	flags.DurationVar(&o.Over, "over", time.Minute, "the time over which their checks are due, 1s to 24h")
	flags.IntVar(&o.Workers, "workers", 3, "processes that fire the checks, 1 to 100")
	flags.BoolVar(&o.Cluster, "cluster", false, "three nodes on loopback, of which the leader is killed")
	flags.StringVar(&o.Dir, "keep", "", "keep everything in this `directory`: after Ctrl-C, the same command goes on")
	serve := flags.String("serve", "", "show the shop and its store in the browser, at this `address` such as 127.0.0.1:8080;\nport 0 means any free one, and no host this machine only")
	asJSON := flags.Bool("json", false, "print the totals as JSON")
	if err := parse(flags, args, 0, log); err != nil {
		return err
	}
	for _, c := range []struct {
		name      string
		value     any
		ok        bool
		expecting string
	}{
		{"orders", o.Orders, o.Orders >= 1 && o.Orders <= 10_000_000, "1 to 10000000"},
		{"over", o.Over, o.Over >= time.Second && o.Over <= 24*time.Hour, "1s to 24h"},
		{"workers", o.Workers, o.Workers >= 1 && o.Workers <= 100, "1 to 100"},
	} {
		if !c.ok {
			fmt.Fprintf(log, "hwtdurable orders: --%s: %v (expected: %s)\n", c.name, c.value, c.expecting)
			return errUsage
		}
	}
	if *serve != "" {
		listener, err := cli.Listen(*serve)
		if err != nil {
			fmt.Fprintf(log, "hwtdurable orders: --serve %q: %v\n", *serve, err)
			return errUsage
		}
		defer listener.Close()
		o.Page = listener
	}
	totals, err := orders.Run(ctx, o, log)
	if errors.Is(err, orders.ErrInterrupted) && o.Dir != "" {
		fmt.Fprintf(log, "\nStopped. The same command goes on in %s.\n", o.Dir)
		return nil
	}
	if err != nil {
		return err
	}
	if *asJSON {
		err = json.NewEncoder(out).Encode(totals)
	} else {
		totals.Print(out)
	}
	if err == nil && !totals.AddUp() {
		err = errors.New("the totals do not add up")
	}
	return err
}

// parse parses flags and checks the number of what else is given, which may stand
// before the flags or after them.
func parse(flags *flag.FlagSet, args []string, want int, log io.Writer) error {
	var rest []string
	for {
		if err := flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return err
			}
			return errUsage
		}
		if args = flags.Args(); len(args) == 0 {
			break
		}
		rest, args = append(rest, args[0]), args[1:]
	}
	if len(rest) != want {
		fmt.Fprintf(log, "hwtdurable %s: %d arguments (expected: %d)\n", flags.Name(), len(rest), want)
		return errUsage
	}
	return flags.Parse(append([]string{"--"}, rest...))
}
