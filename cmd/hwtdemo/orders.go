package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/shop"
	"github.com/hashedwheel/hwt/internal/cli"
)

// lineEvery is the time between two lines of progress where there is no terminal.
const lineEvery = time.Second

const ordersHelp = `Simulates a shop with very many orders, the kind of load timing wheels are for.

Each order reserves stock and money and gets one timeout: a check after
--check-after, in production perhaps half an hour. Most orders are paid in time
(--paid), at random moments, and a payment cancels the check. A check that fires
releases the reservation of its order. Each order must end in exactly one of the
two ways: reserved minus paid minus released is 0 at the end. If it is not, or
if a check fired early, the exit status is 1.

The report has the rates of schedule and cancel, the lateness of the checks that
fired, and the memory per pending check. A payment that races with its check may
come too late; the shop rejects it.

An order takes about 130 bytes of memory, including its timeout. Ctrl-C ends the
simulation early, with a report of the pending checks.`

const ordersExamples = `  hwtdemo orders                                    # takes about 6 seconds
  hwtdemo orders --orders 20000 --check-after 1s    # a quick look
  hwtdemo orders --paid 0 --tick 100ms --wheel 512  # every check fires
  hwtdemo orders --serve :8080 --check-after 1m     # watch it in the browser
  hwtdemo orders --json | jq .lateness.p99_ns       # the report for programs`

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
func newOrders(s streams) *command {
	c := &ordersCommand{streams: s, config: shop.Config{
		Orders: 1_000_000, CheckAfter: 5 * time.Second, Paid: 95, Producers: runtime.GOMAXPROCS(0), Seed: 1,
	}}
	cmd := newCommand("orders", "A million orders, each with a check that most payments cancel", ordersHelp, ordersExamples)
	cmd.run = c.run
	cmd.flags.Var(number(&c.config.Orders, 1, maxOrders), "orders", "number of orders")
	cmd.flags.Var(duration(&c.config.CheckAfter, minCheckAfter, maxCheckAfter), "check-after", "time from an order to its check")
	cmd.flags.Var(percent(&c.config.Paid), "paid", "percentage of the orders that are paid before the check")
	cmd.flags.Var(number(&c.config.Producers, 1, maxProducers), "producers", "goroutines that create orders; as many others pay")
	cmd.flags.Var(seed(&c.config.Seed), "seed", "seed of the payments")
	cmd.flags.BoolVar(&c.json, "json", false, "write the report as one JSON object")
	c.engine.add(cmd)
	return cmd
}

// run simulates and reports.
func (c *ordersCommand) run(ctx context.Context) error {
	if err := c.engine.check(); err != nil {
		return err
	}
	closePage, err := c.engine.page.start(c.err)
	if err != nil {
		return err
	}
	defer closePage()
	simulation := shop.New(c.config, func() (hwt.Engine, error) { return c.engine.open("orders") })
	fmt.Fprintln(c.err, ordersLegend)
	stop := cli.Follow(c.err, lineEvery, func() string { return ordersStatus(simulation.Progress()) })
	report, err := simulation.Run(ctx)
	stop()
	if err != nil {
		return err
	}
	report.Engine = c.engine.String()
	return conclude(c.out, report, c.json, report.Interrupted)
}

// ordersLegend explains ordersStatus.
const ordersLegend = "created: orders placed. paid: the payment cancelled the check. released: the check\n" +
	"fired, since no payment came. pending: checks that have not ended."

func ordersStatus(b shop.Balance) string {
	return fmt.Sprintf("created %s  paid %s  released %s  pending %s",
		cli.Count(b.Reserved), cli.Count(b.Paid), cli.Count(b.Released), cli.Count(b.Rest()+b.Unprocessed))
}
