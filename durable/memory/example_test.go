package memory_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/memory"
)

// remind is the code under test: it takes Entries, of a store or of a transaction.
func remind(ctx context.Context, timers durable.Entries, order string) error {
	_, err := timers.Create(ctx, durable.Entry{Key: order, Due: time.Now().Add(time.Hour)})
	return err
}

// A test takes an hour of fake time. Call it TestReminderFiresAfterAnHour in a test file.
func Example() {
	testReminder := func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			store, err := memory.Open(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			tx, err := store.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := remind(ctx, store.Tx(tx).Entries, "order-17"); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			err = store.Work(ctx, func(ctx context.Context, f durable.Firing) error {
				fmt.Println(f.Key, "fired after", time.Since(begun))
				cancel()
				return nil
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	testing.RunTests(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "TestReminderFiresAfterAnHour", F: testReminder}})
	// Output: order-17 fired after 1h0m0s
}
