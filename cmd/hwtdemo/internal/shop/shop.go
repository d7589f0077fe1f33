// Package shop simulates what a timer library is for in a shop: a great many
// orders, each of which reserves stock and money at once and is checked some
// time later. A payment in time cancels the check; an order that is not paid is
// released when its check fires.
package shop

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/lateness"
)

// Shop keeps the books: one unit of stock and a sum of money an order.
//
// Ground rules: every field after opened is written by producers, payers and
// checks at once, and read by anybody; whoever wins the compare-and-swap on an
// order's state, and nobody else, books its end.
type Shop struct {
	checkAfter time.Duration // Immutable after newShop.
	opened     time.Time     // Written once, before the first order.

	stock    account            // units, of which each order takes one
	money    account            // cents
	refused  atomic.Int64       // payments that came when the check had fired
	twice    atomic.Int64       // orders that a second end was tried on: a fault of the timer
	lateness *lateness.Recorder // of the checks that fired
}

func newShop(checkAfter time.Duration) *Shop {
	return &Shop{checkAfter: checkAfter, lateness: lateness.NewRecorder()}
}

// elapsed is the shop's clock: the time since it opened.
func (s *Shop) elapsed() time.Duration { return time.Since(s.opened) }

// account books what was reserved and what became of it.
type account struct {
	reserved, paid, released, unprocessed atomic.Int64
}

// balance returns the account as it stands. The ends are read first, so that
// they never exceed what was reserved.
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

// Rest is what was reserved and has no end yet.
func (b Balance) Rest() int64 { return b.Reserved - b.Paid - b.Released - b.Unprocessed }

// The states of an order. Each but the first is final.
const (
	stateReserved uint32 = iota
	statePaid
	stateReleased
	stateUnprocessed
)

// order is one order and, at the same time, the task of its check, so that the
// check costs no memory besides the timeout. It takes 40 bytes where pointers
// take 8.
type order struct {
	shop  *Shop         // Immutable after drawing.
	check hwt.Timeout   // Written by its producer, read by its payer afterwards.
	due   time.Duration // when the check is due. Written by its producer before the check is scheduled.
	cents uint32        // Immutable after drawing.
	state atomic.Uint32 // Atomic: written by whoever ends the order.
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

// Run is the check: nobody paid, so the reservation is released.
func (o *order) Run(hwt.Timeout) error {
	o.shop.lateness.Record(o.shop.elapsed() - o.due)
	o.end(stateReleased)
	return nil
}

// pay books a payment. inTime is what cancelling the check returned: if it is
// false the check came first, the goods may be sold to somebody else already,
// and the payment is refused.
func (o *order) pay(inTime bool) {
	if !inTime {
		o.shop.refused.Add(1)
		return
	}
	o.end(statePaid)
}

// end books the one end of the order.
func (o *order) end(state uint32) {
	if !o.state.CompareAndSwap(stateReserved, state) {
		o.shop.twice.Add(1)
		return
	}
	o.shop.stock.of(state).Add(1)
	o.shop.money.of(state).Add(int64(o.cents))
}

// of returns the figure that counts what ended in state.
func (a *account) of(state uint32) *atomic.Int64 {
	switch state {
	case statePaid:
		return &a.paid
	case stateReleased:
		return &a.released
	}
	return &a.unprocessed
}
