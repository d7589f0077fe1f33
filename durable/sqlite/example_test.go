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

// An audit table has a row for the end of each attempt, and for entries that expired. The call of
// OnOutcome may be repeated after a crash: the primary key keeps one row per attempt.
func Example_audit() {
	dir, err := os.MkdirTemp("", "audit-")
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
	if _, err := db.ExecContext(ctx, "CREATE TABLE audit (id TEXT, attempt INT, key TEXT, outcome TEXT, error TEXT, PRIMARY KEY (id, attempt))"); err != nil {
		log.Fatal(err)
	}
	past := time.Now().Add(-time.Minute)
	for _, e := range []durable.Entry{{Key: "order-17", Due: time.Now()}, {Key: "order-18", Due: past, NotAfter: past}} {
		if _, err := store.Set(ctx, e); err != nil {
			log.Fatal(err)
		}
	}
	audit := func(ctx context.Context, e durable.Ended) {
		_, err := db.ExecContext(ctx, "INSERT OR REPLACE INTO audit VALUES (?, ?, ?, ?, ?)", e.ID, e.Run.Attempt, e.Key, e.Run.Outcome.String(), e.Run.Error)
		if err != nil {
			log.Print(err)
		}
	}
	go func() {
		for n := 0; n < 2 && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			_ = db.QueryRowContext(ctx, "SELECT count(*) FROM audit").Scan(&n)
		}
		cancel()
	}()
	handler := func(context.Context, durable.Firing) error { return nil }
	if err := store.Work(ctx, handler, &durable.WorkOptions{OnOutcome: audit}); err != nil {
		log.Fatal(err)
	}
	rows, err := db.Query("SELECT key, outcome, error FROM audit ORDER BY key")
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key, outcome, text string
		if err := rows.Scan(&key, &outcome, &text); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s %q\n", key, outcome, text)
	}
	// Output:
	// order-17: succeeded ""
	// order-18: gave up "durable: the entry could not fire by its NotAfter"
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
