package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/shop"
	"github.com/hashedwheel/hwt/internal/cli"
)

// lineEvery is how often progress is shown where there is no terminal.
const lineEvery = time.Second

const ordersHelp = `Simulates a shop with very many orders, which is what timing wheels are for.

Each order reserves stock and money and gets one timeout: a check after --check-after,
in production perhaps half an hour. Most orders are paid before (--paid), at random
moments, and a payment cancels the check. A check that fires releases what the order
reserved. Each order must end in exactly one of the two ways, so in the end reserved
minus paid minus released is 0. If it is not, or if a check fired early, the exit
status is 1.

The report shows how fast checks are scheduled and cancelled, how late they fired,
and how much memory a pending check takes. A payment that races with its check may
come too late; the shop refuses it.

An order takes about 130 bytes of memory, including its timeout. Ctrl-C ends the
simulation early, with a report of what was pending.`

// ordersCommand is the command "orders".
type ordersCommand struct {
	streams
	engine engineFlags
	config shop.Config
	json   bool
}

// Ranges of the flags.
const (
	maxOrders     = 100_000_000
	minCheckAfter = time.Millisecond
	maxCheckAfter = 24 * time.Hour
	maxProducers  = 1024
)

// newOrders returns the command "orders".
func newOrders(s streams) *cobra.Command {
	c := &ordersCommand{streams: s, config: shop.Config{
		Orders: 1_000_000, CheckAfter: 5 * time.Second, Paid: 95, Producers: runtime.GOMAXPROCS(0), Seed: 1,
	}}
	cmd := &cobra.Command{
		Use:   "orders",
		Short: "Simulate a shop: a million orders, each with a check that most payments cancel",
		Long:  ordersHelp,
		Example: `  hwtdemo orders                                      # takes some 6 seconds
  hwtdemo orders --orders 20000 --check-after 1s      # a quick look
  hwtdemo orders --paid 0 --tick 100ms --wheel 512    # every check fires; Netty's defaults
  hwtdemo orders --serve :8080 --check-after 1m       # watch it in the browser
  hwtdemo orders --json | jq .lateness.p99_ns         # the report for programs`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(number(&c.config.Orders, 1, maxOrders), "orders", "how many orders")
	flags.Var(duration(&c.config.CheckAfter, minCheckAfter, maxCheckAfter), "check-after", "time from an order to its check")
	flags.Var(percent(&c.config.Paid), "paid", "percent of the orders that are paid before the check")
	flags.Var(number(&c.config.Producers, 1, maxProducers), "producers", "goroutines that create orders, and as many that pay")
	flags.Var(seed(&c.config.Seed), "seed", "seed for payments")
	c.engine.add(cmd)
	flags.BoolVar(&c.json, "json", false, "write the report as one JSON object")
	return cmd
}

// run simulates and reports.
func (c *ordersCommand) run(ctx context.Context) error {
	ctx, release := interruptible(ctx, func() {})
	defer release()
	closePage, err := c.engine.page.start(c.err)
	if err != nil {
		return err
	}
	defer closePage()
	simulation := shop.New(c.config, func() (hwt.Engine, error) { return c.engine.open("orders") })
	stop := cli.Follow(c.err, lineEvery, func() string { return ordersStatus(simulation.Progress()) })
	report, err := simulation.Run(ctx)
	stop()
	if err != nil {
		return err
	}
	report.Engine = c.engine.String()
	return conclude(c.out, report, c.json, report.Interrupted)
}

func ordersStatus(b shop.Balance) string {
	return fmt.Sprintf("created %s  paid %s  released %s  pending %s",
		cli.Count(b.Reserved), cli.Count(b.Paid), cli.Count(b.Released), cli.Count(b.Rest()+b.Unprocessed))
}
