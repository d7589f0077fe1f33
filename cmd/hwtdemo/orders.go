package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/shop"
	"github.com/hashedwheel/hwt/inspect"
	"github.com/hashedwheel/hwt/internal/cli"
)

// lineEvery is the time between two lines of progress where there is no terminal.
const lineEvery = time.Second

const ordersHelp = `Simulates a shop with very many orders, the kind of load timing wheels are for.

Usage: hwtdemo orders [flags]

Each order reserves an item and gets one timeout: a check after -check-after, in
production perhaps half an hour. Most orders are paid in time (-paid), at random
moments, and a payment cancels the check. A check that fires releases the order.
Each order must end in exactly one of the two ways. If one does not, or if a
check fired early, the exit status is 1.

The report has the rates of schedule and cancel, the lateness of the checks that
fired, and the memory per pending check. A payment that races with its check may
come too late; the shop rejects it.

An order takes about 130 bytes of memory, including its timeout. Ctrl-C ends the
simulation early, with a report of the pending checks.

Examples:
  hwtdemo orders                                 # takes about 6 seconds
  hwtdemo orders -orders 20000 -check-after 1s   # a quick look
  hwtdemo orders -paid 0 -tick 100ms -wheel 512  # every check fires
  hwtdemo orders -serve :8080 -check-after 1m    # watch it in the browser
  hwtdemo orders -json | jq .lateness.p99_ns     # the report for programs
`

// ordersCommand is the command "orders".
type ordersCommand struct {
	*command
	engine engineFlags
	config shop.Config
	serve  string
}

// Ranges of the flags.
const (
	maxOrders     = 100_000_000
	minCheckAfter = time.Millisecond
	maxCheckAfter = 24 * time.Hour
	maxProducers  = 1024
)

// newOrders returns the command "orders".
func newOrders() *command {
	c := &ordersCommand{command: newCommand("orders", ordersHelp), config: shop.Config{
		Orders: 1_000_000, CheckAfter: 5 * time.Second, Paid: 95, Producers: runtime.GOMAXPROCS(0), Seed: 1,
	}}
	c.command.run = c.run
	number(c.flags, &c.config.Orders, 1, maxOrders, "orders", "`number` of orders")
	duration(c.flags, &c.config.CheckAfter, minCheckAfter, maxCheckAfter, "check-after", "`duration` from an order to its check")
	percent(c.flags, &c.config.Paid, "paid", "`percentage` of the orders that are paid before the check")
	number(c.flags, &c.config.Producers, 1, maxProducers, "producers", "`number` of goroutines that create orders; as many others pay")
	seed(c.flags, &c.config.Seed)
	c.flags.StringVar(&c.serve, "serve", "", "`address` of a live page, such as :8080; port 0 means any free port,\nno host this machine only")
	c.engine.add(c.flags)
	return c.command
}

// run simulates.
func (c *ordersCommand) run(ctx context.Context, errOut io.Writer) (report, error) {
	c.engine.options.RecordCallers = c.serve != "" // The page shows them.
	timer, err := c.engine.open(c.flags)
	if err != nil {
		return nil, err
	}
	defer timer.Stop()
	closePage, err := servePage(c.serve, timer, errOut)
	if err != nil {
		return nil, err
	}
	defer closePage()
	simulation := shop.New(c.config, timer)
	fmt.Fprintln(errOut, ordersLegend)
	stop := cli.Follow(errOut, lineEvery, func() string { return ordersStatus(simulation.Progress()) })
	result, err := simulation.Run(ctx)
	stop()
	if err != nil {
		return nil, err
	}
	result.Engine = c.engine.String()
	return result, nil
}

// servePage shows the timer on the page of package inspect, if there is an address, until
// stop is called.
func servePage(address string, timer hwt.Timer, errOut io.Writer) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := cli.Listen(address)
	if err != nil {
		return nil, fmt.Errorf("-serve %q: %w", address, err)
	}
	page := inspect.Handler(&inspect.Options{Timers: map[string]hwt.Timer{"orders": timer}})
	return cli.ServePage(listener, page, errOut), nil
}

// ordersLegend explains ordersStatus.
const ordersLegend = "created: orders placed. paid: the payment cancelled the check. released: the check\n" +
	"fired, since no payment came. pending: checks that have not ended."

func ordersStatus(b shop.Balance) string {
	return fmt.Sprintf("created %s  paid %s  released %s  pending %s",
		cli.Count(b.Created), cli.Count(b.Paid), cli.Count(b.Released), cli.Count(b.Rest()+b.Unprocessed))
}
