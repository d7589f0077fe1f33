// Package shop simulates a shop with very many orders. Each order is checked some time
// later. A payment in time cancels the check. A check that fires releases the order.
package shop

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// shop keeps the accounts.
//
// Ground rules: producers, payers and checks write the fields after opened
// concurrently, and any goroutine reads them. The winner of the compare-and-swap on
// an order's state counts its end.
type shop struct {
	checkAfter time.Duration // Immutable.
	opened     time.Time     // Written once, before the first order.

	created  atomic.Int64
	ends     [unprocessed + 1]atomic.Int64 // by state
	rejected atomic.Int64                  // payments after the check had fired
	twice    atomic.Int64                  // orders that would have ended twice: a fault of the timer
	early    atomic.Int64                  // checks that fired early: a fault of the timer
	latest   atomic.Int64                  // greatest lateness of a check, in nanoseconds
}

// elapsed returns the time since the shop opened, which is its clock.
func (s *shop) elapsed() time.Duration { return time.Since(s.opened) }

// balance returns the account at present. It reads the ends first: they never exceed
// the created orders.
func (s *shop) balance() Balance {
	b := Balance{Paid: s.ends[paid].Load(), Released: s.ends[released].Load(), Unprocessed: s.ends[unprocessed].Load()}
	b.Created = s.created.Load()
	return b
}

// Balance is the account of the orders at one moment.
type Balance struct {
	Created     int64 `json:"created"`
	Paid        int64 `json:"paid"`
	Released    int64 `json:"released"`
	Unprocessed int64 `json:"unprocessed"` // check pending when the timer was stopped
}

// Rest returns the number of orders that have not ended.
func (b Balance) Rest() int64 { return b.Created - b.Paid - b.Released - b.Unprocessed }

// The states of an order. Each but the first is final.
const (
	pending uint32 = iota
	paid
	released
	unprocessed
)

// order is one order and the task of its check: the check takes no memory except the
// timeout. It has 40 bytes where pointers have 8.
type order struct {
	shop  *shop         // Immutable after drawing.
	check hwt.Timeout   // Written by its producer, read by its payer afterwards.
	due   time.Duration // of the check. Written by its producer before the check is scheduled.
	state atomic.Uint32 // Atomic: written by the end of the order.
}

// place counts the order, and schedules its check.
func (o *order) place(timer hwt.Timer) error {
	s := o.shop
	o.due = s.elapsed() + s.checkAfter
	s.created.Add(1)
	check, err := timer.NewTimeout(o, s.checkAfter)
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

// pay counts a payment. inTime is the result of cancelling the check. If it is false,
// the goods may be sold already, and the payment is rejected.
func (o *order) pay(inTime bool) {
	if !inTime {
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
