package shop

import (
	"context"
	"time"

	"github.com/hashedwheel/hwt"
)

// lookUp is after how many orders a producer looks whether it shall stop.
const lookUp = 1024

// produce places the crew's orders as fast as it can.
func (w *crew) produce(ctx context.Context, timer hwt.Timer) error {
	for i := range w.orders {
		if i%lookUp == 0 && ctx.Err() != nil {
			return nil
		}
		if err := w.orders[i].place(timer); err != nil {
			return err
		}
	}
	return nil
}

// Payments are made in batches, so that the clock need not be read for each.
const (
	payEvery  = time.Millisecond // how often a payer looks what is due
	payAtMost = 256              // payments in a batch
)

// collect makes the crew's payments, each at its moment or up to payEvery later.
func (w *crew) collect(ctx context.Context, s *Shop) {
	w.sortPayments()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for due := w.payments; len(due) > 0; {
		batch := dueBatch(due, s.elapsed())
		w.settle(batch)
		due = due[len(batch):]
		pause.Reset(untilNext(due, s.elapsed()))
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}

// untilNext returns how long a payer may rest before the next batch.
func untilNext(due []payment, now time.Duration) time.Duration {
	if len(due) == 0 || due[0].at <= now {
		return 0
	}
	return max(due[0].at-now, payEvery)
}

// dueBatch returns the payments at the front that are due by now, up to a full
// batch.
func dueBatch(payments []payment, now time.Duration) []payment {
	n := 0
	for n < min(payAtMost, len(payments)) && payments[n].at <= now {
		n++
	}
	return payments[:n]
}

// settle cancels the checks of a batch, with the clock running, and then books
// the payments.
func (w *crew) settle(batch []payment) {
	if len(batch) == 0 {
		return
	}
	var inTime [payAtMost]bool
	began := time.Now()
	for i, p := range batch {
		inTime[i] = p.order.check.Cancel()
	}
	w.spent += time.Since(began)
	for i, p := range batch {
		p.order.pay(inTime[i])
	}
}
