package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/engines"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/shop"
	"github.com/hashedwheel/hwt/inspect"
	"github.com/hashedwheel/hwt/internal/cli"
)

// lineEvery is the time between two lines of progress.
const lineEvery = time.Second

const ordersHelp = `Simulates a shop with very many orders, the kind of load timing wheels are for.

Usage: hwtdemo orders [flags]

Each order reserves an item and gets one timeout: a check after -check-after, in
production perhaps half an hour. Most orders are paid in time (-paid), at random
moments, and a payment cancels the check. A check that fires releases the order.
Each order must end in exactly one of the two ways. If one does not, or if a
check fired early, the exit status is 1.

The report has the rates of schedule and cancel, and the lateness of the checks
that fired. A payment that races with its check may come too late; the shop
rejects it. Ctrl-C ends the simulation early, with a report of the pending checks.

Examples:
  hwtdemo orders                                 # takes about 6 seconds
  hwtdemo orders -orders 20000 -check-after 1s   # a quick look
  hwtdemo orders -paid 0                         # every check fires
  hwtdemo orders -serve localhost:8080 -check-after 1m  # watch it in the browser
`

// Ranges of the flags.
const (
	maxOrders     = 100_000_000
	maxCheckAfter = 24 * time.Hour
)

// newOrders returns the command "orders".
func newOrders(flags *flag.FlagSet) command {
	c := shop.Config{Producers: runtime.GOMAXPROCS(0)}
	var engine, serve string
	flags.IntVar(&c.Orders, "orders", 1_000_000, "`number` of orders")
	flags.DurationVar(&c.CheckAfter, "check-after", 5*time.Second, "`duration` from an order to its check")
	flags.Float64Var(&c.Paid, "paid", 95, "`percentage` of the orders that are paid before the check")
	flags.StringVar(&engine, "engine", "hashed", "`name`: hashed, hierarchical, or runtime for Go's own timers")
	flags.StringVar(&serve, "serve", "", "`address` of a live page, such as :8080; port 0 means any free port,\nno host this machine only")
	check := func() error {
		_, err := engines.Named(engine)
		return errors.Join(err, within("orders", c.Orders, 1, maxOrders), within("paid", c.Paid, 0, 100),
			within("check-after", c.CheckAfter, time.Millisecond, maxCheckAfter))
	}
	return command{ordersHelp, check, func(ctx context.Context, errOut io.Writer) (report, error) {
		return runOrders(ctx, c, engine, serve, errOut)
	}}
}

// runOrders simulates. Tasks may take a second: the tasks of this command are short, and one
// above the library's default shows only that the machine is busy.
func runOrders(ctx context.Context, c shop.Config, engine, serve string, errOut io.Writer) (report, error) {
	e, err := engines.Named(engine)
	if err != nil {
		return nil, err
	}
	timer, err := e.New(engines.Options{Name: "orders", TickDuration: time.Millisecond, SlowTaskThreshold: time.Second, RecordCallers: serve != ""})
	if err != nil {
		return nil, err
	}
	defer timer.Stop()
	closePage, err := servePage(serve, timer, errOut)
	if err != nil {
		return nil, err
	}
	defer closePage()
	simulation := shop.New(c, timer)
	fmt.Fprintln(errOut, ordersLegend)
	stop := cli.Follow(errOut, lineEvery, func() string { return ordersStatus(simulation.Progress()) })
	defer stop()
	return simulation.Run(ctx)
}

// servePage shows the timer on the page of package inspect, if there is an address, until stop
// is called.
func servePage(address string, timer hwt.Timer, errOut io.Writer) (stop func() error, err error) {
	server := &http.Server{Handler: inspect.Handler(&inspect.Options{Timers: map[string]hwt.Timer{"orders": timer}})}
	if address == "" {
		return server.Close, nil
	}
	listen := address
	if strings.HasPrefix(address, ":") { // the page has no authentication
		listen = "localhost" + address
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("-serve %q: %w", address, err)
	}
	go server.Serve(listener)
	fmt.Fprintf(errOut, "Watch it at http://%v/\n", listener.Addr())
	return server.Close, nil
}

// ordersLegend explains ordersStatus.
const ordersLegend = "created: orders placed. paid: the payment cancelled the check. released: the check\n" +
	"fired, since no payment came. pending: checks that have not ended."

func ordersStatus(b shop.Balance) string {
	return fmt.Sprintf("created %s  paid %s  released %s  pending %s",
		cli.Count(b.Created), cli.Count(b.Paid), cli.Count(b.Released), cli.Count(b.Rest()+b.Unprocessed))
}
