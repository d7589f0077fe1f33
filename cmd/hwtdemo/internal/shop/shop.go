// Package shop simulates a shop with very many orders. Each order is checked some time
// later. A payment in time cancels the check. A check that fires releases the order.
package shop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cli"
)

// Config is the size of a simulation.
type Config struct {
	Orders     int           // at least 1
	CheckAfter time.Duration // from order to check; positive
	Paid       float64       // percent of the orders that are paid, 0 to 100
	Producers  int           // goroutines that create orders; the same number pays; at least 1
}

// Simulation is one run of a shop. Create it with New, and use it once.
//
// Ground rules: producers, payers and checks write the atomic fields concurrently, and any
// goroutine reads them. The winner of the compare-and-swap on an order's state counts the
// order's end.
type Simulation struct {
	config Config     // Immutable.
	timer  hwt.Engine // Immutable.
	opened time.Time  // Written by Run, before the first order.

	created  atomic.Int64
	ends     [unprocessed + 1]atomic.Int64 // by state
	rejected atomic.Int64                  // payments after the check had fired
	twice    atomic.Int64                  // orders that would have ended twice: a fault of the timer
	early    atomic.Int64                  // checks that fired early: a fault of the timer
	latest   atomic.Int64                  // greatest lateness of a check, in nanoseconds
	cancel   atomic.Int64                  // time in calls of Cancel, in nanoseconds
}

// New returns a simulation with an unused timer, which Run stops. The timer must run its
// tasks on its worker; they are short.
func New(c Config, timer hwt.Engine) *Simulation { return &Simulation{config: c, timer: timer} }

// Run simulates until every order has ended, or ctx does. The report is complete in
// both cases. It returns an error if the timer rejects a timeout.
func (s *Simulation) Run(ctx context.Context) (*Report, error) {
	orders := make([]order, s.config.Orders)
	before, _ := cli.CPUTime()
	s.opened = time.Now()
	err := s.inParts(orders, func(_ int, part []order) error { return s.produce(ctx, part) })
	r := &Report{Size: s.config, CreateTime: s.elapsed()}
	if err == nil {
		_ = s.inParts(orders, func(i int, part []order) error { s.pay(ctx, s.plan(i, part)); return nil })
		s.awaitEnds(ctx, r.CreateTime+s.config.CheckAfter)
	}
	for _, timeout := range s.timer.Stop() {
		timeout.Task().(*order).end(unprocessed)
	}
	after, _ := cli.CPUTime()
	r.CPU, r.Elapsed, r.Interrupted = after-before, s.elapsed(), ctx.Err() != nil
	s.count(r)
	return r, err
}

// inParts calls f for an equal part of the orders per producer, concurrently.
func (s *Simulation) inParts(orders []order, f func(i int, part []order) error) error {
	n := s.config.Producers
	faults := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { faults[i] = f(i, orders[i*len(orders)/n:(i+1)*len(orders)/n]) })
	}
	wg.Wait()
	return errors.Join(faults...)
}

// produce places orders as fast as it can, until ctx ends.
func (s *Simulation) produce(ctx context.Context, orders []order) error {
	for i := range orders {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil
		}
		if err := orders[i].place(s); err != nil {
			return fmt.Errorf("scheduling a check: %w", err)
		}
	}
	return nil
}

// payment is the plan of a customer to pay for an order at some time.
type payment struct {
	at    time.Duration // on the shop's clock
	order *order
}

// plan draws who pays and when, for the orders of one producer that were placed. It returns the
// payments in the order of their times.
func (s *Simulation) plan(producer int, orders []order) (payments []payment) {
	rng := rand.New(rand.NewPCG(1, uint64(producer)))
	for i := range orders {
		o := &orders[i]
		if pays, after := rng.Float64()*100 < s.config.Paid, time.Duration(rng.Int64N(int64(s.config.CheckAfter))); pays && o.check != nil {
			payments = append(payments, payment{o.due - s.config.CheckAfter + after, o})
		}
	}
	slices.SortFunc(payments, func(a, b payment) int { return cmp.Compare(a.at, b.at) })
	return payments
}

// pay makes payments, each at its time or up to a millisecond later, until ctx ends.
func (s *Simulation) pay(ctx context.Context, payments []payment) {
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for len(payments) > 0 {
		began, n := s.elapsed(), 0
		for ; n < len(payments) && payments[n].at <= began; n++ {
			payments[n].order.pay()
		}
		s.cancel.Add(int64(s.elapsed() - began))
		payments = payments[n:]
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}

// grace is the time after the last check was due at which a missing check counts as lost.
const grace = 30 * time.Second

// awaitEnds waits until every order has ended, or grace is over: the timer may have lost a
// check.
func (s *Simulation) awaitEnds(ctx context.Context, lastDue time.Duration) {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for s.Progress().Rest() > 0 && s.elapsed() < lastDue+grace {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// elapsed returns the time since the shop opened, which is its clock.
func (s *Simulation) elapsed() time.Duration { return time.Since(s.opened) }

// Progress returns the orders so far and their ends. It is safe for concurrent use. It reads
// the ends first: they never exceed the created orders.
func (s *Simulation) Progress() Balance {
	b := Balance{Paid: s.ends[paid].Load(), Released: s.ends[released].Load(), Unprocessed: s.ends[unprocessed].Load()}
	b.Created = s.created.Load()
	return b
}

// The states of an order. Each but the first is final.
const (
	pending uint32 = iota
	paid
	released
	unprocessed
)

// order is one order and the task of its check: the check takes no memory except the
// timeout.
type order struct {
	shop  *Simulation   // Written by its producer, before the check is scheduled.
	check hwt.Timeout   // Written by its producer, read by its payer afterwards.
	due   time.Duration // of the check. Written by its producer before the check is scheduled.
	state atomic.Uint32 // Atomic: written by the end of the order.
}

// place counts the order, and schedules its check.
func (o *order) place(s *Simulation) error {
	o.shop, o.due = s, s.elapsed()+s.config.CheckAfter
	s.created.Add(1)
	check, err := s.timer.NewTimeout(o, s.config.CheckAfter)
	if err != nil {
		o.end(unprocessed)
		return err
	}
	o.check = check
	return nil
}

// Run is the check: it releases an unpaid order.
func (o *order) Run(hwt.Timeout) error {
	late := int64(o.shop.elapsed() - o.due)
	if late < 0 {
		o.shop.early.Add(1)
	}
	for latest := &o.shop.latest; ; {
		if most := latest.Load(); late <= most || latest.CompareAndSwap(most, late) {
			break
		}
	}
	o.end(released)
	return nil
}

// pay cancels the check. If the check has fired, the goods may be sold already, and the shop
// rejects the payment.
func (o *order) pay() {
	if !o.check.Cancel() {
		o.shop.rejected.Add(1)
		return
	}
	o.end(paid)
}

// end counts the one end of the order.
func (o *order) end(state uint32) {
	if !o.state.CompareAndSwap(pending, state) {
		o.shop.twice.Add(1)
		return
	}
	o.shop.ends[state].Add(1)
}
