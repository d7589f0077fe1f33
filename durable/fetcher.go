package durable

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// adoptEvery is the pause between two looks for rows of workers that are gone.
const adoptEvery = time.Second

// fetcher takes rows from the database: pending rows that are due soon, and claimed rows of workers
// that are gone. It requests only rows after the last row that it has seen in the order of due
// times: a look costs little while nothing is new. Sweeps find the rows that appear before that
// watermark.
type fetcher struct {
	common
	dispatcher *dispatcher
	claimer    *claimer
	wakeOthers func()   // makes the other Works of the store look
	schedules  []string // names that the Work knows

	mark   backend.Cursor // the watermark. Of run.
	damage string         // that was logged last. Of run.
	logged time.Time      // when it was. Of run.
}

// run leases rows until ctx ends. It returns ErrClosed if the database has closed itself.
func (f *fetcher) run(ctx context.Context) error {
	poll := f.limits.Poll
	timer := time.NewTimer(0)
	defer timer.Stop()
	var swept, adopted time.Time
	pause := poll
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-f.sweep.look:
		}
		if f.mustSweep(time.Since(swept)) {
			if f.sweep.unplanned.Swap(false) {
				f.returnLeased() // for a worker that can claim them, and looks first
				swept = time.Time{}
				timer.Reset(poll)
				continue
			}
			f.mark, swept = backend.Cursor{}, time.Now()
		}
		if time.Since(adopted) >= adoptEvery {
			adopted = time.Now()
			for f.adopt(ctx) {
			}
		}
		if err := f.leaseRows(ctx); errors.Is(err, ErrClosed) {
			f.options.Logger.Error("durable: the database has closed; Work ends", "error", err)
			return ErrClosed
		} else if err != nil && ctx.Err() == nil {
			f.trouble("durable: cannot look for due entries; retrying", err, "pause", pause)
			swept = time.Time{}
			pause = min(2*pause, maxPause)
		} else {
			pause = poll
		}
		timer.Reset(pause)
	}
}

// mustSweep reports whether the next look is a sweep. A requested sweep waits until there is room
// for its rows.
func (f *fetcher) mustSweep(since time.Duration) bool {
	held, _ := f.flights.size()
	return since >= sweepEvery || since >= doubtEvery && f.inDoubt() ||
		held <= f.flights.most/2 && f.sweep.wanted.Swap(false)
}

// returnLeased returns leased rows to the database and makes other Works look.
func (f *fetcher) returnLeased() {
	f.lease.returnRows()
	f.wakeOthers()
}

// leaseRows leases rows within the lead, from the watermark on, while there is room.
func (f *fetcher) leaseRows(ctx context.Context) error {
	if err := f.clock.measure(ctx); err != nil {
		return err
	}
	id, _, valid := f.lease.current()
	if !valid {
		return nil // the lease keeper is at work
	}
	if f.mark.Due > f.clock.nanos()+int64(f.limits.Lead) { // the clock was set back
		f.mark = backend.Cursor{}
	}
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = f.leaseBatch(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// leaseBatch leases a batch of rows, and reports whether there may be more. The database
// may have marked them as leased: only the end of the lease makes it return them again.
func (f *fetcher) leaseBatch(ctx context.Context, id int64) (more bool, err error) {
	n, cancel := f.flights.reserve(f.limits.LeaseBatch)
	defer cancel()
	if n == 0 {
		return false, nil // the next poll continues
	}
	lanes, err := f.backend.Lease(ctx, backend.LeaseRequest{
		Worker:    id,
		Until:     f.clock.nanos() + int64(f.limits.Lead),
		Schedules: f.schedules,
		Lanes:     []backend.Lane{{After: f.mark, Max: n}},
	})
	rows := slices.Concat(lanes...) // one, or none after an error
	for i := range rows {
		if !f.accept(rows[i], true) {
			return false, nil // the lease has ended
		}
		f.mark = backend.Cursor{Due: rows[i].Due, Key: rows[i].Key, Slot: rows[i].Slot()}
	}
	return len(rows) == n || backend.Payloads(rows) >= backend.BatchBytes, f.withoutDamage(err)
}

// damageEvery is the pause after which the same damage is logged again.
const damageEvery = time.Minute

// withoutDamage logs an error that reports damaged rows, and returns any other error: a
// damaged row does not fire, and delays no other. Every look may find it again.
func (f *fetcher) withoutDamage(err error) error {
	if !errors.Is(err, ErrDamaged) {
		return err
	}
	if text := err.Error(); text != f.damage || time.Since(f.logged) >= damageEvery {
		f.damage, f.logged = text, time.Now()
		f.options.Logger.Error("durable: damaged entries do not fire", "error", err)
	}
	return nil
}

// adopt takes over a batch of rows of workers that are gone, and reports whether there may
// be more.
func (f *fetcher) adopt(ctx context.Context) (more bool) {
	id, _, valid := f.lease.current()
	n, cancel := f.flights.reserve(f.limits.LeaseBatch)
	defer cancel()
	if !valid || n == 0 || ctx.Err() != nil {
		return false
	}
	rows, err := f.backend.Adopt(ctx, id, n)
	if err = f.withoutDamage(err); err != nil {
		if ctx.Err() == nil {
			f.trouble("durable: cannot take over entries of other workers; retrying", err)
		}
		return false
	}
	f.counts.adopted.Add(int64(len(rows)))
	for i := range rows {
		f.accept(rows[i], true)
	}
	return len(rows) == n || backend.Payloads(rows) >= backend.BatchBytes
}

// offer takes near rows of this store, and returns the rows that it does not take: there is no
// room, or the Work does not know their schedules. It never blocks.
func (f *fetcher) offer(rows []backend.Row) (left []backend.Row) {
	for _, row := range rows {
		if row.Schedule != "" && !slices.Contains(f.schedules, row.Schedule) || !f.accept(row, false) {
			left = append(left, row)
		}
	}
	return left
}

// accept takes a row into the table and passes it on. It reports whether the Work holds the row,
// now or already.
func (f *fetcher) accept(row backend.Row, reserved bool) bool {
	switch h, answer := f.add(row, reserved); {
	case answer == known:
		return true
	case answer != added:
		f.sweep.want() // which finds it again
		return false
	case row.State == backend.Claimed:
		f.counts.leased.Add(1)
		f.dispatcher.await(h)
	default:
		f.counts.leased.Add(1)
		f.claimer.await(h)
	}
	return true
}

// add adds a row to the table, unless the row belongs to a lease that was lost while the database
// answered. If the table is full, the row takes the place of a row that is due later.
func (f *fetcher) add(row backend.Row, reserved bool) (*flight, addition) {
	id, term, valid := f.lease.current()
	if !valid || row.Holder != 0 && row.Holder != id {
		return nil, closed
	}
	h, answer := f.flights.add(row, term, reserved)
	for answer == full && f.claimer.dropLatest(row.Due) {
		h, answer = f.flights.add(row, term, reserved)
	}
	return h, answer
}
