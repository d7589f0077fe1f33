package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

// An order reserves stock. If it is not paid in time, the reservation is released, even if
// the process was restarted in between.
func Example() {
	dir, err := os.MkdirTemp("", "orders-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	store, err := sqlite.Open(ctx, filepath.Join(dir, "timers.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	soon := time.Now().Add(300 * time.Millisecond)
	for _, order := range []string{"order-17", "order-18"} {
		if _, err := store.Set(ctx, durable.Entry{Key: order, Due: soon, Payload: []byte("2 x tea")}); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := store.Cancel(ctx, "order-17"); err == nil {
		fmt.Println("order-17 is paid; its check will never fire")
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
	// order-17 is paid; its check will never fire
	// order-18 was not paid: 2 x tea released
}

// An entry and a row of the program's own table are stored together, or not at all. The
// handler's effect and the acknowledgement are one transaction, too: the effect takes place
// exactly once.
func ExampleStore_DB() {
	dir, err := os.MkdirTemp("", "orders-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "shop.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	db := store.DB()
	if _, err := db.ExecContext(ctx, "CREATE TABLE orders (id TEXT PRIMARY KEY, state TEXT)"); err != nil {
		log.Fatal(err)
	}

	place := func() error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?, 'reserved')", "order-17"); err != nil {
			return err
		}
		if _, err := store.Tx(tx).Set(ctx, durable.Entry{Key: "order-17", Due: time.Now().Add(100 * time.Millisecond)}); err != nil {
			return err
		}
		return tx.Commit()
	}
	if err := place(); err != nil {
		log.Fatal(err)
	}
	err = store.Work(ctx, func(ctx context.Context, f durable.Firing) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, "UPDATE orders SET state = 'released' WHERE id = ?", f.Key); err != nil {
			return err
		}
		if err := store.Tx(tx).Done(ctx, f); err != nil {
			return err
		}
		cancel()
		return tx.Commit()
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	var state string
	if err := db.QueryRow("SELECT state FROM orders WHERE id = 'order-17'").Scan(&state); err != nil {
		log.Fatal(err)
	}
	fmt.Println(state)
	// Output: released
}

// A recurring entry has one pending occurrence at any time. A service registers it by Ensure at each
// start: an occurrence that became due while the service was down stays, and fires.
func Example_recurring() {
	dir, err := os.MkdirTemp("", "reports-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "timers.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	every := durable.Every{Spec: "CRON_TZ=Europe/Berlin 0 9 * * 1-5"}
	if _, _, err := store.Ensure(ctx, durable.Entry{Key: "report", Every: every}); err != nil {
		log.Fatal(err)
	}
	for entry, err := range store.All(ctx, "") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(entry.Key, entry.Every.Spec, entry.Due.Minute())
	}
	// Output:
	// report CRON_TZ=Europe/Berlin 0 9 * * 1-5 0
}
