// Orders checks each order half an hour after it was placed, unless it was paid. Ctrl-C
// saves the pending checks to a file, and the next start loads them and runs overdue ones
// immediately. A kill loses them; its file from the start before remains as NAME.loaded.
// Program checks survives kills.
//
//	go run ./orders                                  # ten thousand orders, for a quick try
//	go run ./orders -orders 1000000 -file /tmp/million
//
// It reads commands:
//
//	pay 17           # cancels the check of order 17
//	extend 17 1h     # checks it in an hour
//	list 5           # shows five orders with the time left
//	quit
package main

import (
	"context"
	"flag"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/keyed"
)

func main() {
	orders := flag.Int("orders", 10_000, "number of orders to place without a file")
	after := flag.Duration("check-after", 30*time.Minute, "time from an order to its check")
	file := flag.String("file", filepath.Join(os.TempDir(), "hwt-orders.saved"), "`file` to load from and save to")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument: %s", flag.Arg(0))
	}
	if *orders < 1 || *after < 0 {
		log.Fatalf("-orders: %d, -check-after: %v (expected: at least 1, and 0 or more)", *orders, *after)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *file, *orders, *after, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// order is the data of an order.
type order struct {
	Customer string
	Cents    int
}

// Pending checks are stored by order number.
type (
	wheel = keyed.Wheel[int, order]
	entry = keyed.Entry[int, order]
)

// run loads or places orders, obeys the commands from in until ctx ends, and saves.
func run(ctx context.Context, file string, n int, after time.Duration, in io.Reader, out io.Writer) error {
	timer, err := hashedwheel.New(nil)
	if err != nil {
		return err
	}
	defer timer.Stop()
	console := log.New(out, "", 0) // shared with the checks
	pending, err := keyed.New(timer, func(id int, o order) {
		console.Printf("order %d was not paid: %s owes %d cents", id, o.Customer, o.Cents)
	}, &keyed.Options[int, order]{DrainWorkers: 1})
	if err != nil {
		return err
	}
	err = load(file, pending)
	if os.IsNotExist(err) {
		err = place(pending, n, after)
	}
	if err != nil {
		return err
	}
	console.Printf("%d orders are pending", pending.Len())
	obey(ctx, pending, in, console)
	console.Printf("saving %d orders to %s", pending.Len(), file)
	return save(file, pending)
}

// place places n orders.
func place(pending *wheel, n int, after time.Duration) error {
	for id := range n {
		if err := pending.Set(id, order{"Ada", 100 + id%1000}, after); err != nil {
			return err
		}
	}
	return nil
}
