package durable

import (
	"context"
	"errors"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// sweepEvery is the pause between two looks at all rows within the lead, in place of
// those behind the watermark only.
const sweepEvery = 5 * time.Second

// doubtEvery is sweepEvery after a call that failed and may have stored entries, of which no Work
// was notified.
const doubtEvery = 500 * time.Millisecond

// adoptEvery is the pause between two looks for rows of workers that are gone.
const adoptEvery = time.Second

// maxPause bounds the pause after failed looks.
const maxPause = 2 * time.Second

// feed leases rows until ctx ends.
func (w *worker) feed(ctx context.Context) {
	poll := w.store.limits.Poll
	timer := time.NewTimer(0)
	defer timer.Stop()
	var mark backend.Cursor // the last row that was seen
	var swept, adopted time.Time
	pause := poll
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-w.look:
		}
		since := time.Since(swept)
		if since >= sweepEvery || since >= doubtEvery && w.store.inDoubt() || w.takeSweep() {
			if w.unplanned.Swap(false) {
				w.free() // for a worker that knows the schedule, and looks first
				swept = time.Time{}
				timer.Reset(poll)
				continue
			}
			mark, swept = backend.Cursor{}, time.Now()
		}
		if time.Since(adopted) >= adoptEvery {
			adopted = time.Now()
			for w.adoptBatch(ctx) {
			}
		}
		if err := w.leaseRows(ctx, &mark); errors.Is(err, ErrClosed) {
			w.log.Error("durable: the database has closed; Work ends", "error", err)
			w.stop(ErrClosed)
			return
		} else if err != nil && ctx.Err() == nil {
			w.store.trouble("durable: cannot look for due entries; retrying", err, "pause", pause)
			swept = time.Time{}
			pause = min(2*pause, maxPause)
		} else {
			pause = poll
		}
		timer.Reset(pause)
	}
}

// leaseRows leases rows within the lead, from mark on, while there is room.
func (w *worker) leaseRows(ctx context.Context, mark *backend.Cursor) error {
	s := w.store
	if err := s.clock.measure(ctx); err != nil {
		return err
	}
	id, _, valid := w.lease.current()
	if !valid {
		return nil // keepLease is at work
	}
	if mark.Due > s.clock.nanos()+int64(s.limits.Lead) { // the clock was set back
		*mark = backend.Cursor{}
	}
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = w.leaseBatch(ctx, id, mark); err != nil {
			return err
		}
	}
	return nil
}

// leaseBatch leases a batch of rows, and reports whether there may be more. The database
// may have marked them as leased: only the end of the lease makes it return them again.
func (w *worker) leaseBatch(ctx context.Context, id int64, mark *backend.Cursor) (more bool, err error) {
	s := w.store
	n, cancel := w.reserve(s.limits.LeaseBatch)
	defer cancel()
	if n == 0 {
		return false, nil // the next poll continues
	}
	rows, err := s.backend.Lease(ctx, backend.LeaseRequest{
		Worker:    id,
		After:     *mark,
		Until:     s.clock.nanos() + int64(s.limits.Lead),
		Max:       n,
		Schedules: w.names,
	})
	for i := range rows {
		if !w.accept(rows[i], true) {
			return false, nil // the lease has ended
		}
		*mark = backend.Cursor{Due: rows[i].Due, Key: rows[i].Key, Slot: rows[i].Slot()}
	}
	return len(rows) == n || backend.Payloads(rows) >= backend.BatchBytes, w.withoutDamage(err)
}

// damageEvery is the pause after which the same damage is logged again.
const damageEvery = time.Minute

// withoutDamage logs an error that reports damaged rows, and returns any other one: a
// damaged row does not fire, and delays no other. Every look may find it again.
func (w *worker) withoutDamage(err error) error {
	if !errors.Is(err, ErrDamaged) {
		return err
	}
	if text := err.Error(); text != w.damage || time.Since(w.logged) >= damageEvery {
		w.damage, w.logged = text, time.Now()
		w.log.Error("durable: damaged entries do not fire", "error", err)
	}
	return nil
}

// adoptBatch takes over a batch of rows of workers that are gone, and reports whether there may
// be more.
func (w *worker) adoptBatch(ctx context.Context) (more bool) {
	id, _, valid := w.lease.current()
	n, cancel := w.reserve(w.store.limits.LeaseBatch)
	defer cancel()
	if !valid || n == 0 || ctx.Err() != nil {
		return false
	}
	rows, err := w.store.backend.Adopt(ctx, id, n)
	if err = w.withoutDamage(err); err != nil {
		if ctx.Err() == nil {
			w.store.trouble("durable: cannot take over entries of other workers; retrying", err)
		}
		return false
	}
	w.store.counts.adopted.Add(int64(len(rows)))
	for i := range rows {
		w.accept(rows[i], true)
	}
	return len(rows) == n || backend.Payloads(rows) >= backend.BatchBytes
}

// offer passes near rows of this store to the worker, and returns those that it does not take:
// it has no room, or does not know their schedules. It never blocks.
func (w *worker) offer(rows []backend.Row) (left []backend.Row) {
	for _, row := range rows {
		if row.Schedule != "" && w.options.Schedules[row.Schedule] == nil || !w.accept(row, false) {
			left = append(left, row)
		}
	}
	return left
}

// sweepSoon makes feed look at all rows within the lead.
func (w *worker) sweepSoon() {
	w.sweep.Store(true)
	request(w.look)
}

// takeSweep reports whether a sweep was asked for and there is room for its rows.
func (w *worker) takeSweep() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.held) <= w.options.MaxHeld/2 && w.sweep.Swap(false)
}
