package main

import (
	"context"
	"io"
	"time"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/orders"
)

// runOrders is the command orders.
func runOrders(ctx context.Context, args []string, out, log io.Writer) error {
	flags := newFlags("orders", log)
	var d orders.Demo
	flags.IntVar(&d.Orders, "orders", 300, "orders of the shop, 10 to 100000")
	flags.IntVar(&d.Kills, "kills", 6, "times that the process is killed, 0 to 100")
	flags.DurationVar(&d.Check, "check-after", 3*time.Second, "time until an order is checked, 100ms to 1h")
	flags.DurationVar(&d.Every, "every", 20*time.Millisecond, "time between two orders, 1ms to 1m")
	if err := parse(flags, args, 0, 0, log); err != nil {
		return err
	}
	if d.Orders < 10 || d.Orders > 100_000 || d.Kills < 0 || d.Kills > 100 ||
		d.Check < 100*time.Millisecond || d.Check > time.Hour || d.Every < time.Millisecond || d.Every > time.Minute {
		return wrongUsage(log, "orders", "--orders: %d, --kills: %d, --check-after: %v, --every: %v (expected: 10 to 100000, 0 to 100, 100ms to 1h, 1ms to 1m)",
			d.Orders, d.Kills, d.Check, d.Every)
	}
	return d.Run(ctx, out)
}
