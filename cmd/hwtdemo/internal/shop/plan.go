package shop

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// payment is the plan of a customer to pay for an order at some time.
type payment struct {
	at    time.Duration // after the order; after sortPayments, on the shop's clock
	order *order
}

// newWorkers draws all orders and payments, divides them among workers, and allocates
// all memory of the simulation except the timer's. The draw depends on the seed, not
// on the number of workers. Once ctx ends, the remaining orders stay undrawn.
func newWorkers(ctx context.Context, s *shop, c Config) []*worker {
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	orders := make([]order, c.Orders)
	workers := make([]*worker, min(c.Producers, c.Orders))
	for i := range workers {
		from, to := i*c.Orders/len(workers), (i+1)*c.Orders/len(workers)
		workers[i] = &worker{orders: orders[from:to]}
		workers[i].draw(ctx, rng, s, c)
	}
	return workers
}

// draw draws who pays and when.
func (w *worker) draw(ctx context.Context, rng *rand.Rand, s *shop, c Config) {
	w.payments = make([]payment, 0, int(float64(len(w.orders))*min(1, c.Paid/100+0.01)))
	for i := range w.orders {
		if i%checkStopEvery == 0 && ctx.Err() != nil {
			return
		}
		o := &w.orders[i]
		o.shop = s
		pays, after := rng.Float64()*100 < c.Paid, time.Duration(rng.Int64N(int64(c.CheckAfter)))
		if pays {
			w.payments = append(w.payments, payment{at: after, order: o})
		}
	}
}

// sortPayments sorts the payments by time on the shop's clock, and discards those for
// orders that were not placed. Millions take seconds: once ctx ends, all count as
// equal, which ends the sort early.
func (w *worker) sortPayments(ctx context.Context) {
	var ended atomic.Bool
	defer context.AfterFunc(ctx, func() { ended.Store(true) })()
	w.payments = slices.DeleteFunc(w.payments, func(p payment) bool { return p.order.check == nil })
	for i := range w.payments {
		p := &w.payments[i]
		p.at += p.order.due - p.order.shop.checkAfter
	}
	slices.SortFunc(w.payments, func(a, b payment) int {
		if ended.Load() {
			return 0
		}
		return cmp.Compare(a.at, b.at)
	})
}
