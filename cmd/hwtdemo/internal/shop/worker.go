package shop

import (
	"context"
	"time"

	"github.com/hashedwheel/hwt"
)

// worker is one producer and one payer, with their orders.
type worker struct {
	orders   []order
	payments []payment
	spent    time.Duration // in calls of Cancel
}

// checkStopEvery is the number of orders between two looks at the context.
const checkStopEvery = 1024

// produce places the worker's orders as fast as it can.
func (w *worker) produce(ctx context.Context, timer hwt.Timer) error {
	for i := range w.orders {
		if i%checkStopEvery == 0 && ctx.Err() != nil {
			return nil
		}
		if err := w.orders[i].place(timer); err != nil {
			return err
		}
	}
	return nil
}

// Payments are made in batches, so that the clock is not read for each.
const (
	payEvery = time.Millisecond // between two batches
	payBatch = 256              // payments in a batch, at most
)

// pay makes the worker's payments, each at its time or up to payEvery later.
func (w *worker) pay(ctx context.Context, s *shop) {
	w.sortPayments(ctx)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for rest := w.payments; len(rest) > 0; {
		batch := dueBatch(rest, s.elapsed())
		w.cancel(batch)
		rest = rest[len(batch):]
		pause.Reset(untilNext(rest, s.elapsed()))
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}

// untilNext returns the pause of a payer before the next batch.
func untilNext(rest []payment, now time.Duration) time.Duration {
	if len(rest) == 0 || rest[0].at <= now {
		return 0
	}
	return max(rest[0].at-now, payEvery)
}

// dueBatch returns the first payments that are due by now, at most payBatch.
func dueBatch(payments []payment, now time.Duration) []payment {
	n := 0
	for n < min(payBatch, len(payments)) && payments[n].at <= now {
		n++
	}
	return payments[:n]
}

// cancel cancels the checks of a batch, which is timed, and then counts the payments.
func (w *worker) cancel(batch []payment) {
	if len(batch) == 0 {
		return
	}
	var inTime [payBatch]bool
	began := time.Now()
	for i, p := range batch {
		inTime[i] = p.order.check.Cancel()
	}
	w.spent += time.Since(began)
	for i, p := range batch {
		p.order.pay(inTime[i])
	}
}
