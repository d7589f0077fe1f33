// Checks is a shop that reserves stock for orders and releases the stock of orders that are
// not paid in time. Orders and their checks are in one SQLite file: a check is stored with
// its order or not at all, survives restarts, and releases the stock exactly once.
//
//	go run ./checks -order tea-17 -within 10s
//	go run ./checks -order tea-18 -within 10s
//	go run ./checks -pay tea-17
//	go run ./checks # works until Ctrl-C
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

func main() {
	file := flag.String("file", filepath.Join(os.TempDir(), "hwt-shop.db"), "`file` of the shop")
	order := flag.String("order", "", "place an order of this `name`")
	within := flag.Duration("within", 30*time.Minute, "time to pay for the order")
	pay := flag.String("pay", "", "pay for the order of this `name`")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument: %s", flag.Arg(0))
	}
	if *within < 0 || *order != "" && *pay != "" {
		log.Fatalf("-within: %v, -order: %q, -pay: %q (expected: a time of 0 or more, and one of the others)", *within, *order, *pay)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *file, *order, *pay, *within); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, file, order, pay string, within time.Duration) error {
	s, err := open(ctx, file)
	if err != nil {
		return err
	}
	defer s.Close()
	switch {
	case order != "":
		log.Printf("placing %s in %s: it must be paid within %v", order, file, within)
		return s.place(ctx, order, within)
	case pay != "":
		log.Printf("paying for %s in %s", pay, file)
		return s.pay(ctx, pay)
	}
	log.Printf("checking the orders in %s until Ctrl-C", file)
	return s.Work(ctx, s.check, nil)
}

// shop is a store with a table of orders next to it.
type shop struct{ *sqlite.Store }

func open(ctx context.Context, file string) (*shop, error) {
	store, err := sqlite.Open(ctx, file, nil)
	if err != nil {
		return nil, err
	}
	s := &shop{store}
	_, err = s.DB().ExecContext(ctx, "CREATE TABLE IF NOT EXISTS orders (name TEXT PRIMARY KEY, state TEXT NOT NULL)")
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return s, nil
}

// inTx runs f in a transaction. The transaction commits if f returns nil.
func (s *shop) inTx(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := s.DB().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // no effect after Commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// place stores an order with its check.
func (s *shop) place(ctx context.Context, name string, within time.Duration) error {
	return s.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?, 'reserved')", name); err != nil {
			return err
		}
		_, err := s.Tx(tx).Create(ctx, durable.Entry{Key: name, Due: time.Now().Add(within)})
		return err
	})
}

// pay marks an order as paid and cancels its check. It fails if no check is pending: the order
// is unknown or paid, or its check has fired.
func (s *shop) pay(ctx context.Context, name string) error {
	return s.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := s.Tx(tx).Cancel(ctx, name); err != nil {
			return fmt.Errorf("paying for %s: %w", name, err)
		}
		_, err := tx.ExecContext(ctx, "UPDATE orders SET state = 'paid' WHERE name = ?", name)
		return err
	})
}

// check releases an order that is not paid. The release and the acknowledgement commit
// together.
func (s *shop) check(ctx context.Context, f durable.Firing) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE orders SET state = 'released' WHERE name = ?", f.Key); err != nil {
			return err
		}
		return s.Tx(tx).Done(ctx, f)
	})
	if err == nil {
		log.Printf("%s was not paid: released, %v late", f.Key, f.Lateness)
	}
	return err
}
