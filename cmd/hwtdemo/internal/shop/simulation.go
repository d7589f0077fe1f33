package shop

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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
	Seed       uint64        // of who pays and when
}

// Simulation is one run of a shop. Create it with New, and use it once.
type Simulation struct {
	config  Config
	shop    *shop
	timer   hwt.Engine
	workers []*worker
	report  Report
}

// New returns a simulation with an unused timer, which Run stops. The timer must run its
// tasks on its worker; they are short.
func New(c Config, timer hwt.Engine) *Simulation {
	return &Simulation{config: c, shop: &shop{checkAfter: c.CheckAfter}, timer: timer}
}

// Progress returns the orders so far and their ends. It is safe for concurrent use.
func (s *Simulation) Progress() Balance { return s.shop.balance() }

// Run simulates until every order has ended, or ctx does. The report is complete in
// both cases. It returns an error if the timer rejects a timeout.
func (s *Simulation) Run(ctx context.Context) (*Report, error) {
	s.workers = newWorkers(ctx, s.shop, s.config)
	var empty int64
	if ctx.Err() == nil { // else the heap is not measured
		empty = heapInUse()
	}
	before, _ := cli.CPUTime()

	s.shop.opened = time.Now()
	err := s.create(ctx)
	if err == nil && ctx.Err() == nil {
		s.measureHeap(empty)
		s.pay(ctx)
	}
	for _, timeout := range s.timer.Stop() {
		timeout.Task().(*order).end(unprocessed)
	}
	s.finishReport(before, ctx.Err() != nil)
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

// The wait for the end of all orders.
const (
	awaitEvery = 5 * time.Millisecond // between two looks
	grace      = 30 * time.Second     // after the last check was due; then it counts as lost
)

// pay runs the payers, and waits until every order has ended, or grace is over: the timer
// may have lost a check.
func (s *Simulation) pay(ctx context.Context) {
	var wg sync.WaitGroup
	for _, w := range s.workers {
		wg.Go(func() { w.pay(ctx, s.shop) })
	}
	wg.Wait()
	look := time.NewTicker(awaitEvery)
	defer look.Stop()
	for lastDue := s.report.CreateTime + s.config.CheckAfter; s.shop.balance().Rest() > 0 && s.shop.elapsed() < lastDue+grace; {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// The heap is measured only if there is enough to measure, and time for it.
const (
	heapMinPending = 10_000                 // checks
	heapMinTime    = 500 * time.Millisecond // until the first check is due
)

// heapInUse returns the size of the reachable heap in bytes.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// measureHeap measures the growth of the heap per pending check since it was empty. All
// orders are placed and unpaid. The memory of the orders was allocated before.
func (s *Simulation) measureHeap(empty int64) {
	pending := s.timer.Pending()
	if pending < heapMinPending || s.config.CheckAfter-s.shop.elapsed() < heapMinTime {
		return
	}
	perCheck := float64(heapInUse()-empty) / float64(pending)
	s.report.HeapPerCheck = &perCheck
}
