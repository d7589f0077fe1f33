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
	number(flags, &d.Orders, "orders", 300, 10, 100_000, "orders of the shop")
	number(flags, &d.Kills, "kills", 6, 0, 100, "times that the process is killed")
	span(flags, &d.Check, "check-after", 3*time.Second, 100*time.Millisecond, time.Hour, "time until an order is checked")
	span(flags, &d.Every, "every", 20*time.Millisecond, time.Millisecond, time.Minute, "time between two orders")
	if err := parse(flags, args, log); err != nil {
		return err
	}
	return d.Run(ctx, out)
}
