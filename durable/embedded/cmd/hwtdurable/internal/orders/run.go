package orders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
	"github.com/hashedwheel/hwt/internal/cli"
)

// ErrInterrupted is returned by Run if its context ended before the totals were
// settled. With Options.Dir set, Run goes on there.
var ErrInterrupted = errors.New("interrupted")

// run is one run.
type run struct {
	options   Options
	dir       string
	plan      *plan
	journal   *journal
	processes *processes
	ledger    *role.Ledger
	store     *durable.Store
	conn      *nats.Conn
	progress  io.Writer
	entries   []role.Entry
}

// Run places the orders, pays some, kills processes, and computes the totals.
func Run(ctx context.Context, o Options, progress io.Writer) (Totals, error) {
	dir := o.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "hwtdurable-"); err != nil {
			return Totals{}, err
		}
		defer os.RemoveAll(dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Totals{}, err
	}
	r := &run{options: o, dir: dir, progress: progress, ledger: role.NewLedger(filepath.Join(dir, "released"))}
	totals, err := r.all(ctx)
	if err != nil && ctx.Err() != nil {
		return totals, ErrInterrupted
	}
	return totals, err
}

func (r *run) all(ctx context.Context) (Totals, error) {
	var resumed bool
	var err error
	if r.plan, resumed, err = loadPlan(r.dir, r.options); err != nil {
		return Totals{}, err
	}
	if r.journal, err = openJournal(r.dir); err != nil {
		return Totals{}, err
	}
	defer r.journal.close()
	if resumed {
		placed, paid := r.journal.counts()
		fmt.Fprintf(r.progress, "Going on in %s: %d placed, %d paid.\n", r.dir, placed, paid)
	}
	r.processes = &processes{plan: r.plan, dir: r.dir}
	defer r.processes.stop()
	if err := r.processes.start(r.options.Workers); err != nil {
		return Totals{}, err
	}
	if r.store, r.conn, err = role.Connect(ctx, r.processes.urls(), r.processes.store()); err != nil {
		return Totals{}, err
	}
	defer r.conn.Close()
	defer r.store.Close()
	if r.options.Page != nil {
		defer cli.ServePage(r.options.Page, r.page(), r.progress)()
	}
	if err := r.trade(ctx); err != nil {
		return Totals{}, err
	}
	b := computeTotals(r.plan, r.journal, r.entries)
	b.KilledWorkers, b.KilledNodes = r.processes.killedWorkers.Load(), r.processes.killedNodes.Load()
	return b, nil
}

// trade does everything that goes on at the same time, until nothing is pending.
func (r *run) trade(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	chaos, calm := context.WithCancel(ctx)
	defer calm()
	var all sync.WaitGroup
	do := func(f func() error) {
		all.Go(func() {
			if err := f(); err != nil {
				cancel(err)
			}
		})
	}
	do(func() error { return r.processes.killWorkers(chaos) })
	do(func() error { return r.processes.killNodes(chaos, r.leader) })
	stop := cli.Follow(r.progress, time.Second, r.status())
	err := r.shop(ctx)
	if err == nil {
		err = r.untilDone(ctx, calm)
	}
	cancel(err)
	all.Wait()
	stop()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// shop places and pays.
func (r *run) shop(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make(chan error, 2)
	all.Go(func() { errs <- r.place(ctx) })
	all.Go(func() { errs <- r.pay(ctx) })
	all.Wait()
	return errors.Join(<-errs, <-errs)
}

// chunk is how many orders are placed before the journal says so.
const chunk = 1000

// place sets the checks of the orders that are not placed yet.
func (r *run) place(ctx context.Context) error {
	placed, _ := r.journal.counts()
	for from := placed; from < r.plan.Orders; from += chunk {
		to := min(from+chunk, r.plan.Orders)
		_, err := r.store.SetMany(ctx, func(yield func(durable.Timer) bool) {
			for order := from; order < to; order++ {
				due := r.plan.due(order)
				if late := time.Now().Add(time.Second); due.Before(late) {
					due = late // the run was interrupted
				}
				if !yield(durable.Timer{Key: r.plan.key(order), Due: due, Payload: []byte("release the reservation")}) {
					return
				}
			}
		})
		if err != nil {
			return fmt.Errorf("placing: %w", err)
		}
		if err := r.journal.place(to); err != nil {
			return err
		}
	}
	return nil
}

// cashiers is how many payments are under way at a time.
const cashiers = 32

// payment is one that is to come.
type payment struct {
	order int
	at    time.Time
}

// pay cancels the checks of the orders that are paid, each at its time.
func (r *run) pay(ctx context.Context) error {
	var due []payment
	for order := range r.plan.Orders {
		at, pays := r.plan.payment(order)
		word := r.journal.about(order)
		if pays && word != payDone && word != payLate {
			due = append(due, payment{order, at})
		}
	}
	slices.SortFunc(due, func(a, b payment) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	queue := make(chan payment)
	errs := make(chan error, cashiers)
	for range cashiers {
		go func() { errs <- r.cash(ctx, queue) }()
	}
	err := feed(ctx, due, queue)
	close(queue)
	for range cashiers {
		err = errors.Join(err, <-errs)
	}
	return err
}

func feed(ctx context.Context, due []payment, queue chan<- payment) error {
	for _, p := range due {
		select {
		case <-time.After(time.Until(p.at)):
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case queue <- p:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (r *run) cash(ctx context.Context, queue <-chan payment) error {
	var failed error
	for p := range queue {
		if failed != nil || ctx.Err() != nil {
			continue
		}
		failed = r.payOne(ctx, p.order)
	}
	return failed
}

// payOne cancels the check of an order. If the shop was interrupted after it began
// to, the check may be gone already: then the ledger shows whether it fired.
func (r *run) payOne(ctx context.Context, order int) error {
	for {
		if order < r.journal.placedCount() {
			break
		}
		if !pause(ctx, 10*time.Millisecond, 20*time.Millisecond) {
			return ctx.Err()
		}
	}
	begun := r.journal.about(order) == payBegun
	if err := r.journal.pay(order, payBegun); err != nil {
		return err
	}
	_, err := r.store.Cancel(ctx, r.plan.key(order))
	switch {
	case err == nil:
		return r.journal.pay(order, payDone)
	case errors.Is(err, durable.ErrFired), errors.Is(err, durable.ErrNotFound) && !begun:
		return r.journal.pay(order, payLate)
	case errors.Is(err, durable.ErrNotFound):
		return nil // settled at the end
	}
	return fmt.Errorf("paying %s: %w", r.plan.key(order), err)
}

// untilDone waits until every check has fired or was cancelled. The killing ends
// when the last is due.
func (r *run) untilDone(ctx context.Context, calm func()) error {
	quiet := 0
	for {
		if time.Now().After(r.plan.due(r.plan.Orders)) {
			calm()
		}
		err := r.store.Refresh(ctx)
		st := r.store.Stats()
		if err == nil && st.Pending+st.Leased == 0 {
			quiet++
		} else {
			quiet = 0
		}
		if quiet == 3 {
			return r.readLedger()
		}
		if !pause(ctx, 300*time.Millisecond, 400*time.Millisecond) {
			return ctx.Err()
		}
	}
}

func (r *run) readLedger() error {
	entries, err := r.ledger.Next()
	r.entries = append(r.entries, entries...)
	return err
}

// status returns a function that describes how far the run is.
func (r *run) status() func() string {
	lines := role.NewLedger(filepath.Join(r.dir, "released"))
	released := 0
	return func() string {
		if entries, err := lines.Next(); err == nil { // else the run ends with that error
			released += len(entries)
		}
		placed, paid := r.journal.counts()
		st := r.store.Stats()
		return fmt.Sprintf("placed %d, paid %d, released %d; pending %d, leased %d; killed %d workers, %d nodes",
			placed, paid, released, st.Pending, st.Leased, r.processes.killedWorkers.Load(), r.processes.killedNodes.Load())
	}
}

// leader returns the node to kill: the leader of the first shard.
func (r *run) leader() int {
	if !r.plan.Cluster {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	js, err := jetstream.New(r.conn)
	if err != nil {
		return 0
	}
	stream, err := js.Stream(ctx, "HWT_"+r.store.Name()+"_00")
	if err != nil || stream.CachedInfo().Cluster == nil {
		return 0
	}
	for i := range r.plan.Listen {
		if strings.EqualFold(stream.CachedInfo().Cluster.Leader, nodeName(i)) {
			return i
		}
	}
	return 0
}
