package shop

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// payment is what a customer will do: pay for an order at some moment.
type payment struct {
	at    time.Duration // after the order; once placed, on the shop's clock
	order *order
}

// crew is one producer and one payer with the orders that are theirs.
type crew struct {
	orders   []order
	payments []payment
	spent    time.Duration // in Cancel calls
}

// hire draws all orders and payments and divides them among crews. All the
// memory of the simulation, the timer's excepted, is allocated here. The same
// seed draws the same, however many crews there are.
func hire(s *Shop, c Config) []*crew {
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	orders := make([]order, c.Orders)
	crews := make([]*crew, min(c.Producers, c.Orders))
	for i := range crews {
		from, to := i*c.Orders/len(crews), (i+1)*c.Orders/len(crews)
		crews[i] = &crew{orders: orders[from:to]}
		crews[i].draw(rng, s, c)
	}
	return crews
}

// Prices in cents, from one to two hundred of the currency.
const minCents, maxCents = 100, 20_000

// draw draws what each order is worth, and who pays and when.
func (w *crew) draw(rng *rand.Rand, s *Shop, c Config) {
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

// sortPayments puts the payments for what was placed on the shop's clock and in
// their order; the others are dropped.
func (w *crew) sortPayments() {
	w.payments = slices.DeleteFunc(w.payments, func(p payment) bool { return p.order.check == nil })
	for i := range w.payments {
		p := &w.payments[i]
		p.at += p.order.due - p.order.shop.checkAfter
	}
	slices.SortFunc(w.payments, func(a, b payment) int { return cmp.Compare(a.at, b.at) })
}
