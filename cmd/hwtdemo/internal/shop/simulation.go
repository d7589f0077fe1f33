package shop

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	Seed       uint64        // of who pays and when, and of the prices
}

// Simulation is one run of a shop. Create it with New, and use it once.
type Simulation struct {
	config  Config
	shop    *Shop
	open    func() (hwt.Engine, error)
	timer   hwt.Engine
	workers []*worker
	report  Report
}

// New returns a simulation with the timer that open makes. The timer must run its
// tasks on its worker; they are short.
func New(c Config, open func() (hwt.Engine, error)) *Simulation {
	return &Simulation{config: c, shop: newShop(c.CheckAfter), open: open}
}

// Progress returns the orders so far and their ends. It is safe for concurrent use.
func (s *Simulation) Progress() Balance { return s.shop.stock.balance() }

// Run simulates until every order has ended, or ctx does. The report is complete in
// both cases. It returns an error if the timer cannot be created, or rejects a timeout.
func (s *Simulation) Run(ctx context.Context) (*Report, error) {
	s.workers = newWorkers(ctx, s.shop, s.config)
	timer, err := s.open()
	if err != nil {
		return nil, err
	}
	s.timer = timer
	var empty int64
	if ctx.Err() == nil { // else the heap is not measured
		empty = heapInUse()
	}
	cpu, _ := cli.CPUNow()

	s.shop.opened = time.Now()
	err = s.create(ctx)
	if err == nil && ctx.Err() == nil {
		s.measureHeap(empty)
		s.pay(ctx)
	}
	s.stop()
	s.finishReport(cpu, ctx.Err() != nil)
	return &s.report, err
}

// create runs the producers.
func (s *Simulation) create(ctx context.Context) error {
	var wg sync.WaitGroup
	faults := make([]error, len(s.workers))
	for i, w := range s.workers {
		wg.Go(func() { faults[i] = w.produce(ctx, s.timer) })
	}
	wg.Wait()
	s.report.CreateTime = s.shop.elapsed()
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("scheduling a check: %w", err)
	}
	return nil
}

// pay runs the payers, and waits until every order has ended.
func (s *Simulation) pay(ctx context.Context) {
	var wg sync.WaitGroup
	for _, w := range s.workers {
		wg.Go(func() { w.pay(ctx, s.shop) })
	}
	wg.Wait()
	s.await(ctx)
}

// The wait for the end of all orders.
const (
	awaitEvery = 5 * time.Millisecond // between two looks
	grace      = 30 * time.Second     // after the last check was due; then it counts as lost
)

// await waits until every order has ended, or grace is over: the timer may have lost a
// check.
func (s *Simulation) await(ctx context.Context) {
	look := time.NewTicker(awaitEvery)
	defer look.Stop()
	for s.shop.stock.balance().Rest() > 0 && s.shop.elapsed() < s.lastDue()+grace {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// lastDue returns the latest deadline of a check.
func (s *Simulation) lastDue() time.Duration { return s.report.CreateTime + s.config.CheckAfter }

// stop stops the timer and counts its pending timeouts as unprocessed.
func (s *Simulation) stop() {
	for _, timeout := range s.timer.Stop() {
		timeout.Task().(*order).end(stateUnprocessed)
	}
}
