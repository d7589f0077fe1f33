package memory_test

import (
	"context"
	"fmt"
	"sync/atomic"
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

// Each kind has its own handler, goroutines, and time limit.
func Example_kinds() {
	testKinds := func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			store, err := memory.Open(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			for i, key := range []string{"mail/order-17", "report/2026", "unknown/1"} {
				if _, err := store.Set(ctx, durable.Entry{Key: key, Due: time.Now().Add(time.Duration(i) * time.Hour)}); err != nil {
					t.Fatal(err)
				}
			}
			var mux durable.Mux
			mux.Handle("mail/", func(ctx context.Context, f durable.Firing) error {
				fmt.Println("mail:", f.Key)
				return nil
			}, &durable.WorkOptions{Concurrency: 8, Timeout: time.Minute})
			mux.Handle("report/", func(ctx context.Context, f durable.Firing) error {
				fmt.Println("report:", f.Key)
				return nil
			}, &durable.WorkOptions{Concurrency: 1, MaxAttempts: 3})
			time.AfterFunc(4*time.Hour, cancel)
			if err := store.WorkMux(ctx, &mux); err != nil {
				t.Fatal(err)
			}
			waiting, err := store.Get(t.Context(), "unknown/1")
			fmt.Println("waits:", waiting.Key, err)
		})
	}
	testing.RunTests(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "TestKinds", F: testKinds}})
	// Output:
	// mail: mail/order-17
	// report: report/2026
	// waits: unknown/1 <nil>
}

// A tenant's calls of a provider are limited to two at a time, in all processes of the store together.
func Example_limits() {
	testLimits := func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			store, err := memory.Open(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			tenant := durable.Scope{Group: "acme"}
			if err := store.Limit(ctx, tenant, durable.Limit{Running: 2}); err != nil {
				t.Fatal(err)
			}
			for i := range 20 {
				key := fmt.Sprintf("mail/%d", i)
				if _, err := store.Set(ctx, durable.Entry{Key: key, Due: time.Now(), Group: "acme"}); err != nil {
					t.Fatal(err)
				}
			}
			var running, most atomic.Int64
			time.AfterFunc(time.Minute, cancel)
			err = store.Work(ctx, func(ctx context.Context, f durable.Firing) error {
				defer running.Add(-1)
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(time.Second)
				return nil
			}, &durable.WorkOptions{Concurrency: 8})
			fmt.Println("at most", most.Load(), "at a time:", err)
			st, err := store.Stats(t.Context())
			fmt.Println("left:", st.Pending, err)
		})
	}
	testing.RunTests(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "TestLimits", F: testLimits}})
	// Output:
	// at most 2 at a time: <nil>
	// left: 0 <nil>
}
