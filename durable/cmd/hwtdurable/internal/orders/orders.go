// Package orders is a demonstration: a shop whose process is killed while it checks orders.
package orders

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

// Shop places orders, each with a check that releases it if nobody pays in time. Two of
// three customers pay. Orders and checks are in one SQLite file.
type Shop struct {
	File   string
	Orders int
	Every  time.Duration // between two orders
	Check  time.Duration // after the order
}

// columns are added to the store's file. Times are nanoseconds.
const columns = `CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, due INTEGER NOT NULL,
	paid INTEGER NOT NULL DEFAULT 0, checks INTEGER NOT NULL DEFAULT 0,
	early INTEGER NOT NULL DEFAULT 0, late INTEGER NOT NULL DEFAULT 0)`

const lease = time.Second

var options = &sqlite.Options{Options: durable.Options{Lease: lease}}

func key(number int) string { return fmt.Sprintf("order-%06d", number) }

// Run is the process of the shop. It takes up where a killed one has ended.
func Run(s Shop) error {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	store, err := sqlite.Open(ctx, s.File, options)
	if err != nil {
		return err
	}
	defer store.Close()
	if _, err := store.DB().ExecContext(ctx, columns); err != nil {
		return err
	}
	go func() { <-proc.ParentEnded(); end() }()
	failed := make(chan error, 2)
	go func() {
		failed <- store.Work(ctx, func(ctx context.Context, f durable.Firing) error { return check(ctx, store, f) }, nil)
	}()
	go func() {
		if err := s.serve(ctx, store); err != nil && ctx.Err() == nil {
			failed <- err
		}
	}()
	proc.Ready()
	return <-failed
}

// serve places the orders and takes the payments, each at its time since the first order.
func (s Shop) serve(ctx context.Context, store *sqlite.Store) error {
	var first, placed int64
	if err := one(ctx, store, "SELECT coalesce(min(due), 0), count(*) FROM orders", &first, &placed); err != nil {
		return err
	}
	if placed == 0 {
		first = time.Now().Add(s.Check).UnixNano()
	}
	opened := time.Unix(0, first).Add(-s.Check)
	pays := s.Check / 2 / s.Every // orders until a customer pays
	for step := max(0, int(placed)-int(pays)-1); step < s.Orders+int(pays); step++ {
		time.Sleep(time.Until(opened.Add(time.Duration(step) * s.Every)))
		if ctx.Err() != nil {
			return nil
		}
		if step >= int(placed) && step < s.Orders {
			if err := place(ctx, store, step, time.Now().Add(s.Check)); err != nil {
				return err
			}
		}
		if number := step - int(pays); number >= 0 && number%3 != 0 {
			if err := pay(ctx, store, number); err != nil {
				return err
			}
		}
	}
	return nil
}

// place stores an order with its check.
func place(ctx context.Context, store *sqlite.Store, number int, due time.Time) error {
	return inTx(ctx, store, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (number, due) VALUES (?, ?)", number, due.UnixNano()); err != nil {
			return err
		}
		_, err := store.Tx(tx).Create(ctx, durable.Entry{Key: key(number), Due: due})
		return err
	})
}

// pay cancels the check of an order. Too late is too late.
func pay(ctx context.Context, store *sqlite.Store, number int) error {
	return inTx(ctx, store, func(tx *sql.Tx) error {
		_, err := store.Tx(tx).Cancel(ctx, key(number))
		if errors.Is(err, durable.ErrNotFound) || errors.Is(err, durable.ErrFired) {
			return nil // paid before the kill, or released
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, "UPDATE orders SET paid = paid + 1 WHERE number = ?", number)
		}
		return err
	})
}

// check releases an order. The release and the acknowledgement commit together.
func check(ctx context.Context, store *sqlite.Store, f durable.Firing) error {
	return inTx(ctx, store, func(tx *sql.Tx) error {
		number, err := strconv.Atoi(strings.TrimPrefix(f.Key, "order-"))
		if err != nil {
			return err
		}
		late := time.Since(f.Due).Nanoseconds()
		if _, err := tx.ExecContext(ctx, `UPDATE orders SET checks = checks + 1, late = ?1, early = early + (?1 < 0)
			WHERE number = ?2`, late, number); err != nil {
			return err
		}
		return store.Tx(tx).Done(ctx, f)
	})
}

// inTx runs f in a transaction, which commits if f returns nil.
func inTx(ctx context.Context, store *sqlite.Store, f func(tx *sql.Tx) error) error {
	tx, err := store.DB().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // no effect after Commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// one reads the integers of one row.
func one(ctx context.Context, store *sqlite.Store, query string, into ...any) error {
	return store.DB().QueryRowContext(ctx, query).Scan(into...)
}
