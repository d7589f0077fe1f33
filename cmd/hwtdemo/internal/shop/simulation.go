package shop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cputime"
)

// Config says what to simulate.
type Config struct {
	Orders     int           // how many; at least 1
	CheckAfter time.Duration // from order to check; positive
	Paid       float64       // percent of the orders that are paid, 0 to 100
	Producers  int           // goroutines that create orders, and as many that pay; at least 1
	Seed       uint64        // of who pays and when, and of the prices
}

// Timer is what the simulation needs of an engine.
type Timer interface {
	hwt.Timer
	Pending() int64
}

// Simulation is one run of a shop. Make it with New, use it once.
type Simulation struct {
	config Config
	shop   *Shop
	open   func() (Timer, error)
	timer  Timer
	crews  []*crew
	report Report
}

// New returns a simulation whose timer open will make. The timer's tasks must
// be allowed to run on its worker: they are short.
func New(c Config, open func() (Timer, error)) *Simulation {
	return &Simulation{config: c, shop: newShop(c.CheckAfter), open: open}
}

// Progress returns how many orders were created, and what became of them so
// far. It may be called at any time, from anywhere.
func (s *Simulation) Progress() Balance { return s.shop.stock.balance() }

// Run simulates until every order has its end, or ctx ends. It blocks for that
// time. The report is complete in either case; the error is for timers that
// cannot be made, or refuse to schedule.
func (s *Simulation) Run(ctx context.Context) (*Report, error) {
	s.crews = hire(s.shop, s.config)
	timer, err := s.open()
	if err != nil {
		return nil, err
	}
	s.timer = timer
	empty := heapInUse()
	cpu, _ := cputime.Now()

	s.shop.opened = time.Now()
	err = s.create(ctx)
	if err == nil {
		s.measureHeap(empty)
		s.settle(ctx)
	}
	s.stop()
	s.finishReport(cpu, ctx.Err() != nil)
	return &s.report, err
}

// create lets every producer place its orders.
func (s *Simulation) create(ctx context.Context) error {
	var wg sync.WaitGroup
	faults := make([]error, len(s.crews))
	for i, w := range s.crews {
		wg.Go(func() { faults[i] = w.produce(ctx, s.timer) })
	}
	wg.Wait()
	s.report.CreateTime = s.shop.elapsed()
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("scheduling a check: %w", err)
	}
	return nil
}

// settle lets the payers pay, and waits until every order has its end.
func (s *Simulation) settle(ctx context.Context) {
	var wg sync.WaitGroup
	for _, w := range s.crews {
		wg.Go(func() { w.collect(ctx, s.shop) })
	}
	wg.Wait()
	s.await(ctx)
}

// How long to wait for ends.
const (
	awaitEvery = 5 * time.Millisecond // how often to look
	grace      = 30 * time.Second     // after the last check was due, before it counts as lost
)

// await waits until no order is without an end. A timer that loses a check must
// not hold the command for ever, so it gives up some time after the last one
// was due.
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

// lastDue returns when the last check is due.
func (s *Simulation) lastDue() time.Duration { return s.report.CreateTime + s.config.CheckAfter }

// stop stops the timer and books what it had pending as unprocessed. A task
// that the timer started elsewhere may still be running then; it gets a second
// to end.
func (s *Simulation) stop() {
	for _, timeout := range s.timer.Stop() {
		timeout.Task().(*order).end(stateUnprocessed)
	}
	for wait := time.Second; s.shop.stock.balance().Rest() > 0 && wait > 0; wait -= awaitEvery {
		time.Sleep(awaitEvery)
	}
}
