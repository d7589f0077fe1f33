package shop

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// payment is what a customer will do: pay for an order at some time.
type payment struct {
	at    time.Duration // after the order; after sortPayments, on the shop's clock
	order *order
}

// newWorkers draws all orders and payments and divides them among workers. It
// allocates all memory of the simulation, except the timer's. The same seed draws
// the same, however many workers there are.
func newWorkers(s *Shop, c Config) []*worker {
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	orders := make([]order, c.Orders)
	workers := make([]*worker, min(c.Producers, c.Orders))
	for i := range workers {
		from, to := i*c.Orders/len(workers), (i+1)*c.Orders/len(workers)
		workers[i] = &worker{orders: orders[from:to]}
		workers[i].draw(rng, s, c)
	}
	return workers
}

// Prices in cents.
const minCents, maxCents = 100, 20_000

// draw draws what each order is worth, and who pays and when.
func (w *worker) draw(rng *rand.Rand, s *Shop, c Config) {
	w.payments = make([]payment, 0, int(float64(len(w.orders))*min(1, c.Paid/100+0.01)))
	for i := range w.orders {
		o := &w.orders[i]
		o.shop, o.cents = s, minCents+rng.Uint32N(maxCents-minCents)
		pays, after := rng.Float64()*100 < c.Paid, time.Duration(rng.Int64N(int64(c.CheckAfter)))
		if pays {
			w.payments = append(w.payments, payment{at: after, order: o})
		}
	}
}

// sortPayments sorts the payments by time on the shop's clock. It drops those for
// orders that were not placed.
func (w *worker) sortPayments() {
	w.payments = slices.DeleteFunc(w.payments, func(p payment) bool { return p.order.check == nil })
	for i := range w.payments {
		p := &w.payments[i]
		p.at += p.order.due - p.order.shop.checkAfter
	}
	slices.SortFunc(w.payments, func(a, b payment) int { return cmp.Compare(a.at, b.at) })
}
