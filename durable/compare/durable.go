package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded"
)

var errUnsupported = errors.New("the library cannot do this")

type hwtDurable struct {
	store *embedded.Store
	dir   string
}

func openDurable(ctx context.Context) (rival, error) {
	dir, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return nil, err
	}
	s, err := embedded.Open(ctx, dir, &embedded.Options{Logger: slog.New(slog.DiscardHandler)})
	return &hwtDurable{s, dir}, err
}

func key(n int) string { return fmt.Sprintf("order-%d", n) }

func (d *hwtDurable) set(ctx context.Context, timers []timer) error {
	if len(timers) == 1 {
		_, err := d.store.Set(ctx, key(timers[0].n), timers[0].due, nil)
		return err
	}
	_, err := d.store.SetMany(ctx, func(yield func(durable.Timer) bool) {
		for _, t := range timers {
			if !yield(durable.Timer{Key: key(t.n), Due: t.due}) {
				return
			}
		}
	})
	return err
}

func (d *hwtDurable) move(ctx context.Context, n int, due time.Time) error {
	_, err := d.store.Move(ctx, key(n), due)
	return err
}

func (d *hwtDurable) cancel(ctx context.Context, n int) error {
	_, err := d.store.Cancel(ctx, key(n))
	return err
}

func (d *hwtDurable) work(ctx context.Context, fired func(time.Time)) error {
	return d.store.Work(ctx, func(_ context.Context, f durable.Firing) error {
		fired(f.Due)
		return nil
	}, nil)
}

func (d *hwtDurable) close() {
	d.store.Close()
	os.RemoveAll(d.dir)
}
