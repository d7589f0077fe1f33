package main

import (
	"encoding/json"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/shop"
)

const ordersHelp = `Simulates a shop with a great many orders, which is what timing wheels are for.

Each order reserves stock and money at once and gets one timer: a check some
time later (--check-after; in production perhaps half an hour). Most orders are
paid before (--paid), at random moments: that cancels the check. When a check
fires, nobody has paid, and what the order reserved is released. Every order
must end in exactly one of the two, so at the end reserved minus paid minus
released is 0; if not, or if a check fired early, the exit status is 1.

The report shows how fast checks are scheduled and cancelled, how late those
fired that did, and what a pending check costs in memory. Some payments race
with their check and come too late; the shop refuses those.

An order takes about 130 bytes of memory, its timer included. Ctrl-C stops and
reports what was pending as unprocessed.`

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
  hwtdemo orders --paid 0 --tick 100ms --wheel 512    # every check fires; Netty's usual wheel
  hwtdemo orders --json | jq .lateness.p99_ns         # the report for programs`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.addFlags(cmd)
	return cmd
}

func (c *ordersCommand) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(number(&c.config.Orders, 1, maxOrders), "orders", "how many orders")
	flags.Var(duration(&c.config.CheckAfter, minCheckAfter, maxCheckAfter), "check-after",
		"time from an order to its check")
	flags.Var(percent(&c.config.Paid), "paid", "percent of the orders that are paid before the check")
	flags.Var(number(&c.config.Producers, 1, maxProducers), "producers",
		"goroutines that create orders, and as many that pay")
	flags.Var(seed(&c.config.Seed), "seed", "seed of who pays and when")
	c.engine.add(flags)
	flags.BoolVar(&c.json, "json", false, "write the report as one JSON object")
}

// run simulates and reports.
func (c *ordersCommand) run(cmd *cobra.Command) error {
	ctx, release := interruptible(cmd.Context())
	defer release()
	simulation := shop.New(c.config, func() (shop.Timer, error) { return c.engine.open("orders") })
	stop := follow(simulation, c.config.Orders, c.err)
	report, err := simulation.Run(ctx)
	stop()
	if err != nil {
		return err
	}
	report.Engine = c.engine.String()
	if err := c.write(report); err != nil {
		return err
	}
	return c.verdict(report)
}

// write writes the report in the form asked for.
func (c *ordersCommand) write(report *shop.Report) error {
	if !c.json {
		_, err := io.WriteString(c.out, report.Text())
		return err
	}
	encoder := json.NewEncoder(c.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

// verdict turns the report into an error if there is reason to.
func (c *ordersCommand) verdict(report *shop.Report) error {
	if err := report.Err(); err != nil {
		return err
	}
	if report.Interrupted {
		return errInterrupted
	}
	return nil
}
