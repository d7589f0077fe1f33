package embedded_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded"
)

// An order reserves stock. If it is not paid in time, the reservation is released,
// also if the process was restarted in between.
func Example() {
	dir, err := os.MkdirTemp("", "orders-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	store, err := embedded.Open(ctx, dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	soon := time.Now().Add(300 * time.Millisecond)
	for _, order := range []string{"order-17", "order-18"} {
		if _, err := store.Set(ctx, order, soon, []byte("2 x tea")); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := store.Cancel(ctx, "order-17"); err == nil {
		fmt.Println("order-17 is paid, and its check will never fire")
	}
	err = store.Work(ctx, func(_ context.Context, f durable.Firing) error {
		fmt.Printf("%s was not paid: %s released\n", f.Key, f.Payload)
		cancel()
		return nil
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// order-17 is paid, and its check will never fire
	// order-18 was not paid: 2 x tea released
}

// A recurring timer has one pending occurrence at any time.
func Example_recurring() {
	dir, err := os.MkdirTemp("", "reports-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := embedded.Open(ctx, dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	every := durable.Every{Spec: "CRON_TZ=Europe/Berlin 0 9 * * 1-5", Missed: durable.MissedSkip}
	if _, err := store.SetEvery(ctx, "report", every, time.Time{}, nil); err != nil {
		log.Fatal(err)
	}
	for timer, err := range store.All(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(timer.Key, timer.Every.Spec, timer.Due.Minute())
	}
	// Output:
	// report CRON_TZ=Europe/Berlin 0 9 * * 1-5 0
}
