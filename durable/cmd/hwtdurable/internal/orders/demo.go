package orders

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

// Demo runs a shop and kills its process again and again.
type Demo struct {
	Shop
	Kills int
}

// result are the sums over all orders.
type result struct{ placed, paid, both, released, again, missing, early, late int64 }

const results = `SELECT count(*), coalesce(sum(paid), 0), coalesce(sum(paid > 0 AND checks > 0), 0), coalesce(sum(checks > 0), 0),
	coalesce(sum(checks > 1), 0), coalesce(sum(paid = 0 AND checks = 0), 0), coalesce(sum(early), 0), coalesce(max(late), 0) FROM orders`

// ErrBroken reports that an order was checked too often, too early, or not at all.
var ErrBroken = errors.New("an order was not checked as promised")

// Run runs the demonstration.
func (d Demo) Run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "hwtdurable-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d.File = filepath.Join(dir, "shop.db")
	fmt.Fprintf(out, "A shop takes %d orders. A check releases each one after %v, unless it is paid.\n", d.Orders, d.Check)
	fmt.Fprintf(out, "Orders and checks are in one SQLite file. SIGKILL ends the process %d times.\n\n", d.Kills)
	begin := time.Now()
	total := time.Duration(d.Orders)*d.Every + d.Check
	for life := range d.Kills + 1 {
		p, err := proc.Start(ctx, "orders", d.Shop)
		if err != nil {
			return err
		}
		if life == d.Kills {
			err := d.await(ctx, begin.Add(total))
			return errors.Join(err, p.Stop(time.Minute), d.report(ctx, out))
		}
		proc.Sleep(ctx, time.Until(begin.Add(total*time.Duration(life+1)/time.Duration(d.Kills+1))))
		p.Kill()
		r, err := d.read(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%5.1f s  SIGKILL after %3d orders, %3d paid, %3d released\n", time.Since(begin).Seconds(), r.placed, r.paid, r.released)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// patience is the time without progress after which the shop has failed.
const patience = 10 * time.Second

// await waits until every order is paid or released, after the end of the plan for as long
// as the shop makes progress: a slow machine is late.
func (d Demo) await(ctx context.Context, end time.Time) error {
	var before result
	for end = end.Add(patience); ctx.Err() == nil && time.Now().Before(end); {
		r, err := d.read(ctx)
		if err != nil || r.placed == int64(d.Orders) && r.missing == 0 {
			return err
		}
		if r != before {
			end = time.Now().Add(max(patience, time.Until(end)))
			before = r
		}
		proc.Sleep(ctx, 100*time.Millisecond)
	}
	return ctx.Err()
}

// read opens the file beside the shop's process.
func (d Demo) read(ctx context.Context) (r result, err error) {
	store, err := sqlite.Open(ctx, d.File, options)
	if err != nil {
		return r, err
	}
	defer store.Close()
	err = one(ctx, store, results, &r.placed, &r.paid, &r.both, &r.released, &r.again, &r.missing, &r.early, &r.late)
	return r, err
}

func (d Demo) report(ctx context.Context, out io.Writer) error {
	r, err := d.read(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%6d orders\n%6d paid, %d of them released all the same\n", r.placed, r.paid, r.both)
	fmt.Fprintf(out, "%6d released, %d more than once, %d early, up to %v late\n",
		r.released, r.again, r.early, time.Duration(r.late).Round(time.Millisecond))
	fmt.Fprintf(out, "%6d lost\n", int64(d.Orders)-r.placed+r.missing)
	fmt.Fprintf(out, "\nA check that a killed process had claimed waits for the end of its lease, %v.\n", lease)
	if r.both+r.again+r.early+r.missing > 0 || r.placed != int64(d.Orders) {
		return ErrBroken
	}
	return nil
}
