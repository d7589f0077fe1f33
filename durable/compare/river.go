package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type checkArgs struct {
	N   int       `json:"n"`
	Due time.Time `json:"due"`
}

func (checkArgs) Kind() string { return "check" }

type checkWorker struct {
	river.WorkerDefaults[checkArgs]
	fired func(time.Time)
}

func (w *checkWorker) Work(_ context.Context, job *river.Job[checkArgs]) error {
	w.fired(job.Args.Due)
	return nil
}

type riverRival struct {
	pool   *pgxpool.Pool
	insert *river.Client[pgx.Tx]
	ids    map[int]int64
}

func openRiver(ctx context.Context, url string) (rival, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{})
	return &riverRival{pool, client, make(map[int]int64)}, err
}

func (r *riverRival) set(ctx context.Context, timers []timer) error {
	for len(timers) > 0 {
		n := min(1000, len(timers))
		var params []river.InsertManyParams
		for _, t := range timers[:n] {
			params = append(params, river.InsertManyParams{Args: checkArgs{t.n, t.due}, InsertOpts: &river.InsertOpts{ScheduledAt: t.due}})
		}
		got, err := r.insert.InsertMany(ctx, params)
		if err != nil {
			return err
		}
		for i, result := range got {
			r.ids[timers[i].n] = result.Job.ID
		}
		timers = timers[n:]
	}
	return nil
}

func (r *riverRival) move(context.Context, int, time.Time) error { return errUnsupported }

func (r *riverRival) cancel(ctx context.Context, n int) error {
	_, err := r.insert.JobCancel(ctx, r.ids[n])
	return err
}

func (r *riverRival) work(ctx context.Context, fired func(time.Time)) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &checkWorker{fired: fired})
	client, err := river.NewClient(riverpgxv5.New(r.pool), &river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 64}},
		Workers: workers,
		Logger:  slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	return client.Stop(context.WithoutCancel(ctx))
}

func (r *riverRival) close() { r.pool.Close() }
