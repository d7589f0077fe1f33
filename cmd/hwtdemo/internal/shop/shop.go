// Package shop simulates a shop with very many orders. Each order reserves stock
// and money and is checked some time later. A payment in time cancels the check. A
// check that fires releases the order.
package shop

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/lateness"
)

// Shop keeps the accounts: each order takes one unit of stock and a sum of money.
//
// Ground rules: producers, payers and checks write the fields after opened
// concurrently, and any goroutine reads them. The winner of the compare-and-swap on
// an order's state counts its end.
type Shop struct {
	checkAfter time.Duration // Immutable after newShop.
	opened     time.Time     // Written once, before the first order.

	stock    account           // units, of which each order takes one
	money    account           // cents
	refused  atomic.Int64      // payments after the check had fired
	twice    atomic.Int64      // orders that would have ended twice: a fault of the timer
	lateness lateness.Recorder // of the checks that fired
}

func newShop(checkAfter time.Duration) *Shop {
	return &Shop{checkAfter: checkAfter}
}

// elapsed returns the time since the shop opened, which is its clock.
func (s *Shop) elapsed() time.Duration { return time.Since(s.opened) }

// account counts reservations and their ends.
type account struct {
	reserved, paid, released, unprocessed atomic.Int64
}

// balance returns the account at present. It reads the ends first: they never exceed
// the reservations.
func (a *account) balance() Balance {
	b := Balance{Paid: a.paid.Load(), Released: a.released.Load(), Unprocessed: a.unprocessed.Load()}
	b.Reserved = a.reserved.Load()
	return b
}

// Balance is an account at one moment.
type Balance struct {
	Reserved    int64 `json:"reserved"`
	Paid        int64 `json:"paid"`
	Released    int64 `json:"released"`
	Unprocessed int64 `json:"unprocessed"` // still reserved when the timer was stopped
}

// Rest returns the number of reservations that have not ended.
func (b Balance) Rest() int64 { return b.Reserved - b.Paid - b.Released - b.Unprocessed }

// The states of an order. Each but the first is final.
const (
	stateReserved uint32 = iota
	statePaid
	stateReleased
	stateUnprocessed
)

// order is one order and the task of its check: the check takes no memory except the
// timeout. It has 40 bytes where pointers have 8.
type order struct {
	shop  *Shop         // Immutable after drawing.
	check hwt.Timeout   // Written by its producer, read by its payer afterwards.
	due   time.Duration // of the check. Written by its producer before the check is scheduled.
	cents uint32        // Immutable after drawing.
	state atomic.Uint32 // Atomic: written by the end of the order.
}

// place reserves stock and money, and schedules the check.
func (o *order) place(timer hwt.Timer) error {
	s := o.shop
	o.due = s.elapsed() + s.checkAfter
	s.stock.reserved.Add(1)
	s.money.reserved.Add(int64(o.cents))
	check, err := timer.NewTimeout(o, s.checkAfter)
	if err != nil {
		o.end(stateUnprocessed)
		return err
	}
	o.check = check
	return nil
}

// Run is the check: it releases the reservation of an unpaid order.
func (o *order) Run(hwt.Timeout) error {
	o.shop.lateness.Record(o.shop.elapsed() - o.due)
	o.end(stateReleased)
	return nil
}

// pay counts a payment. inTime is the result of cancelling the check. If it is false,
// the goods may be sold already, and the payment is rejected.
func (o *order) pay(inTime bool) {
	if !inTime {
		o.shop.refused.Add(1)
		return
	}
	o.end(statePaid)
}

// end counts the one end of the order.
func (o *order) end(state uint32) {
	if !o.state.CompareAndSwap(stateReserved, state) {
		o.shop.twice.Add(1)
		return
	}
	o.shop.stock.of(state).Add(1)
	o.shop.money.of(state).Add(int64(o.cents))
}

// of returns the counter of the ends in state.
func (a *account) of(state uint32) *atomic.Int64 {
	switch state {
	case statePaid:
		return &a.paid
	case stateReleased:
		return &a.released
	}
	return &a.unprocessed
}
