// Checks is examples/checks with River. It needs PostgreSQL with River's tables, by
// the variables PGHOST and so on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

func main() {
	order := flag.String("order", "", "place an order of this name")
	within := flag.Duration("within", 30*time.Minute, "time to pay for the order")
	pay := flag.String("pay", "", "pay for the order of this name")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument: %s", flag.Arg(0))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *order, *pay, *within); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, order, pay string, within time.Duration) error {
	pool, err := pgxpool.New(ctx, "")
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS orders (name TEXT PRIMARY KEY, state TEXT NOT NULL, job BIGINT)")
	if err != nil {
		return err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &checker{pool: pool})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 16}},
	})
	if err != nil {
		return err
	}
	s := &shop{pool, client}
	switch {
	case order != "":
		return s.place(ctx, order, within)
	case pay != "":
		return s.pay(ctx, pay)
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	return client.Stop(context.WithoutCancel(ctx))
}

type shop struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
}

type check struct {
	Order string `json:"order"`
}

func (check) Kind() string { return "check" }

// place stores an order with its check.
func (s *shop) place(ctx context.Context, name string, within time.Duration) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		job, err := s.client.InsertTx(ctx, tx, check{name}, &river.InsertOpts{ScheduledAt: time.Now().Add(within)})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO orders VALUES ($1, 'reserved', $2)", name, job.Job.ID)
		return err
	})
}

// pay marks an order as paid and cancels its check. It fails if the check has run.
func (s *shop) pay(ctx context.Context, name string) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var job int64
		err := tx.QueryRow(ctx, "UPDATE orders SET state = 'paid' WHERE name = $1 AND state = 'reserved' RETURNING job", name).Scan(&job)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("too late to pay for %s", name)
		}
		if err == nil {
			_, err = s.client.JobCancelTx(ctx, tx, job)
		}
		return err
	})
}

type checker struct {
	river.WorkerDefaults[check]
	pool *pgxpool.Pool
}

// Work releases an order that is not paid. The release and the end of the job commit
// together.
func (c *checker) Work(ctx context.Context, job *river.Job[check]) error {
	return pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		released, err := tx.Exec(ctx, "UPDATE orders SET state = 'released' WHERE name = $1 AND state = 'reserved'", job.Args.Order)
		if err != nil {
			return err
		}
		if released.RowsAffected() > 0 {
			log.Printf("%s was not paid: released", job.Args.Order)
		}
		_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}
