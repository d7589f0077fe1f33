package postgres

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Heartbeat implements [backend.Backend]. A lost answer makes it renew a second time.
func (b *Backend) Heartbeat(ctx context.Context, worker int64, ttl time.Duration) (id int64, err error) {
	row := func(scan scanner) error { return scan(&id) }
	var stmts []stmt
	switch {
	case ttl <= 0:
		stmts = []stmt{execute(b.sql.freeOf, worker, int64(math.MaxInt32)), query(row, b.sql.endLease, worker)}
	case worker == 0:
		stmts = []stmt{execute(b.sql.forget), query(row, b.sql.register, int64(ttl))}
	default:
		stmts = []stmt{query(row, b.sql.renew, worker, int64(ttl))}
	}
	err = b.insist(ctx, func(ctx context.Context) error { return b.simple(ctx, stmts...) })
	switch {
	case err == nil && id == 0:
		err = backend.ErrLeaseLost
	case err == nil && ttl <= 0:
		b.announcer.announce() // others take the rows over
	}
	return id, err
}

// asWorker runs f in a transaction that keeps others from ending the worker's lease. f
// runs present with its statements. An async commit does not wait for the disk.
func (b *Backend) asWorker(ctx context.Context, worker int64, async bool, f func(ctx context.Context, t *txn, present stmt) error) error {
	return b.insist(ctx, func(ctx context.Context) error {
		var id int64
		present := query(func(scan scanner) error { return scan(&id) }, b.sql.present, worker)
		return b.inTx(ctx, settings(batchWait, async), func(t *txn) error {
			err := f(ctx, t, present)
			if err == nil && id == 0 {
				return backend.ErrLeaseLost
			}
			return err
		})
	})
}

// Lease implements [backend.Backend]. It marks rows with the worker, so that no other
// one gets them, and claims overdue one-shots.
func (b *Backend) Lease(ctx context.Context, req backend.LeaseRequest) ([]backend.Row, error) {
	schedules := [][]byte{}
	for _, s := range req.Schedules {
		schedules = append(schedules, []byte(s))
	}
	var rows []backend.Row
	err := b.asWorker(ctx, req.Worker, false, func(ctx context.Context, t *txn, present stmt) error {
		rows = nil
		return t.write(ctx, present, query(scanRows(&rows), b.sql.lease,
			req.Worker, req.After.Due, req.Until, schedules, int64(req.Max)))
	})
	rows, err = b.resolved(ctx, req.Worker, rows, err)
	slices.SortFunc(rows, func(x, y backend.Row) int {
		return cmp.Or(cmp.Compare(x.Due, y.Due), cmp.Compare(x.Key, y.Key), cmp.Compare(x.Slot(), y.Slot()))
	})
	return rows, err
}

// resolved returns the rows that a transaction gave to worker. If its outcome is
// unknown, it reads them again.
func (b *Backend) resolved(ctx context.Context, worker int64, rows []backend.Row, err error) ([]backend.Row, error) {
	if !errors.Is(err, errUnknown) {
		if err != nil {
			rows = nil
		}
		return rows, err
	}
	var r refs
	for i := range rows {
		r.add(rows[i].Ref())
	}
	var held []backend.Row
	err = b.insist(ctx, func(ctx context.Context) error {
		held = nil
		return b.simple(ctx, query(scanRows(&held), b.sql.owned, worker, r.key, r.generation))
	})
	return held, err
}

// Free implements [backend.Backend]. A row that another transaction has locked stays
// until the lease ends.
func (b *Backend) Free(ctx context.Context, worker int64) error {
	err := b.insist(ctx, func(ctx context.Context) error {
		return b.simple(ctx, execute(b.sql.freeOf, worker, int64(math.MaxInt32)))
	})
	if err == nil {
		b.announcer.announce() // others take the rows over
	}
	return err
}

// Adopt implements [backend.Backend].
func (b *Backend) Adopt(ctx context.Context, worker int64, most int) ([]backend.Row, error) {
	var ended []int64
	err := b.asWorker(ctx, worker, true, func(ctx context.Context, t *txn, present stmt) error {
		ended = nil
		return t.run(ctx, present, query(func(scan scanner) error {
			var id int32
			err := scan(&id)
			ended = append(ended, int64(id))
			return err
		}, b.sql.endedWorkers))
	})
	var all []backend.Row
	for _, from := range ended {
		if err != nil || len(all) >= most {
			break
		}
		var rows []backend.Row
		if rows, err = b.adoptFrom(ctx, worker, from, most-len(all)); err == nil {
			all = append(all, rows...)
		}
	}
	if len(all) > 0 {
		return all, nil // the next call reports the error if it lasts
	}
	return nil, err
}

// adoptFrom takes rows from a worker whose lease has ended.
func (b *Backend) adoptFrom(ctx context.Context, worker, from int64, most int) ([]backend.Row, error) {
	var rows []backend.Row
	err := b.asWorker(ctx, worker, false, func(ctx context.Context, t *txn, present stmt) error {
		rows = nil
		return t.write(ctx, present, execute(b.sql.freeOf, from, int64(10*maxBatch)),
			query(scanRows(&rows), b.sql.adopt, worker, from, int64(most)))
	})
	return b.resolved(ctx, worker, rows, err)
}

// Claim implements [backend.Backend]. A row that another transaction has locked is not
// claimed: its lease is returned once the row is unlocked.
func (b *Backend) Claim(ctx context.Context, worker int64, claims []backend.Claim) ([]bool, error) {
	claimed := make([]bool, len(claims))
	var simple refs // one-shots
	var others []int
	first := make(map[backend.Ref]int) // a row is claimed once
	for i := range claims {
		if _, again := first[claims[i].Ref]; again {
			continue
		}
		first[claims[i].Ref] = i
		if claims[i].Next == nil && !claims[i].Skip {
			simple.add(claims[i].Ref)
		} else {
			others = append(others, i)
		}
	}
	if len(simple.key) > 0 {
		won, err := b.claimSimple(ctx, worker, simple)
		if err != nil {
			return nil, err
		}
		for ref := range won {
			claimed[first[ref]] = won[ref]
		}
	}
	for _, i := range others {
		var err error
		if claimed[i], err = b.claimOne(ctx, worker, &claims[i]); err != nil {
			return nil, err
		}
	}
	return claimed, nil
}

// claimSimple claims rows without a next occurrence by one statement.
func (b *Backend) claimSimple(ctx context.Context, worker int64, r refs) (map[backend.Ref]bool, error) {
	var won map[backend.Ref]bool
	err := b.asWorker(ctx, worker, false, func(ctx context.Context, t *txn, present stmt) error {
		won = make(map[backend.Ref]bool)
		return t.write(ctx, present, query(scanRefs(won), b.sql.claim, worker, r.key, r.generation))
	})
	if errors.Is(err, errUnknown) {
		return b.claimedBy(ctx, worker, r)
	}
	if err != nil || len(won) == len(r.key) {
		return won, err
	}
	locked, err := b.find(ctx, b.sql.held, worker, r.key, r.generation)
	if len(locked) > 0 {
		b.returner.add(worker, locked)
	}
	return won, err
}

// claimedBy reads which rows worker has claimed.
func (b *Backend) claimedBy(ctx context.Context, worker int64, r refs) (map[backend.Ref]bool, error) {
	var rows []backend.Row
	err := b.insist(ctx, func(ctx context.Context) error {
		rows = nil
		return b.simple(ctx, query(scanRows(&rows), b.sql.owned, worker, r.key, r.generation))
	})
	won := make(map[backend.Ref]bool)
	for i := range rows {
		won[rows[i].Ref()] = rows[i].State == backend.Claimed
	}
	return won, err
}

// claimOne claims one row and stores its next occurrence.
func (b *Backend) claimOne(ctx context.Context, worker int64, c *backend.Claim) (won bool, err error) {
	err = b.asWorker(ctx, worker, false, func(ctx context.Context, t *txn, present stmt) error {
		l, err := b.lockRefs(ctx, t, []backend.Ref{c.Ref}, present)
		if err != nil {
			return err
		}
		row := l.find(c.Ref)
		var change backend.Change
		if change, won = c.Decide(row, worker, l.generations[0]); !won {
			return nil
		}
		var w writes
		w.add(l.rows[c.Key], change)
		return w.store(ctx, &b.sql, t.write)
	})
	if errors.Is(err, errUnknown) {
		var r refs
		r.add(c.Ref)
		found, err := b.claimedBy(ctx, worker, r)
		return found[c.Ref], err
	}
	return won && err == nil, err
}

// lockRefs locks the rows that refs name.
func (b *Backend) lockRefs(ctx context.Context, q querier, names []backend.Ref, before ...stmt) (locked, error) {
	l := locked{rows: make(map[string][]backend.Row)}
	var r refs
	for _, name := range names {
		r.add(name)
	}
	stmts := append(before, query(l.scanRow, b.sql.lockRefs, r.key, r.generation), b.takeGenerations(&l, len(names)))
	return l, q.run(ctx, stmts...)
}

// Finish implements [backend.Backend]. Done commits asynchronously: if the server loses
// it, the firing repeats with the same ID.
func (b *Backend) Finish(ctx context.Context, tx any, worker int64, outcomes []backend.Outcome) ([]bool, error) {
	applied := make([]bool, len(outcomes))
	var q querier
	if tx != nil {
		var err error
		if q, err = callersTx(tx); err != nil {
			return nil, err
		}
	}
	done := make(map[backend.Ref]int) // acknowledged together
	for i := range outcomes {
		o := &outcomes[i]
		if _, again := done[o.Ref]; again {
			if err := b.finishDone(ctx, done, applied); err != nil {
				return nil, err
			}
		}
		if o.Fate == backend.Done && tx == nil {
			done[o.Ref] = i
			continue
		}
		var err error
		if applied[i], err = b.finishOne(ctx, q, worker, o); err != nil {
			return nil, err
		}
	}
	if err := b.finishDone(ctx, done, applied); err != nil {
		return nil, err
	}
	return applied, nil
}

// finishDone deletes rows, and empties done. A row may be moved aside while the
// statement runs, or be locked by a caller's transaction: the returner deletes the rest
// later.
func (b *Backend) finishDone(ctx context.Context, done map[backend.Ref]int, applied []bool) error {
	if len(done) == 0 {
		return nil
	}
	var r refs
	for ref := range done {
		r.add(ref)
	}
	gone, err := b.deleteDone(ctx, r)
	if err != nil {
		return err
	}
	if len(gone) < len(done) {
		left, err := b.find(ctx, b.sql.existing, r.key, r.generation)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			b.returner.add(0, left)
		}
		maps.Copy(gone, left)
	}
	for ref := range gone {
		applied[done[ref]] = true
	}
	clear(done)
	return nil
}

// deleteDone deletes the rows that are not locked, and returns them.
func (b *Backend) deleteDone(ctx context.Context, r refs) (map[backend.Ref]bool, error) {
	var gone map[backend.Ref]bool
	err := b.insist(ctx, func(ctx context.Context) error {
		return b.inTx(ctx, settings(batchWait, true), func(t *txn) error {
			gone = make(map[backend.Ref]bool)
			return t.write(ctx, query(scanRefs(gone), b.sql.done, r.key, r.generation), execute(b.sql.countRemoval, slices.Max(r.generation)))
		})
	})
	return gone, err
}

// find returns the names that a statement reads.
func (b *Backend) find(ctx context.Context, sql string, args ...any) (map[backend.Ref]bool, error) {
	var found map[backend.Ref]bool
	err := b.insist(ctx, func(ctx context.Context) error {
		found = make(map[backend.Ref]bool)
		return b.simple(ctx, query(scanRefs(found), sql, args...))
	})
	return found, err
}

// finishOne stores one outcome, in the caller's transaction if q is not nil.
func (b *Backend) finishOne(ctx context.Context, q querier, worker int64, o *backend.Outcome) (applied bool, err error) {
	store := func(q querier, write func(context.Context, ...stmt) error) error {
		for range 2 { // a row that moved aside is found by the second look
			l, err := b.lockRefs(ctx, q, []backend.Ref{o.Ref})
			if err != nil {
				return err
			}
			var change backend.Change
			if change, applied = o.Decide(l.find(o.Ref), worker, l.now, l.generations[0]); applied {
				var w writes
				w.add(l.rows[o.Key], change)
				return w.store(ctx, &b.sql, write)
			}
		}
		return nil
	}
	if q != nil {
		return applied, described(store(q, q.run))
	}
	err = b.insist(ctx, func(ctx context.Context) error {
		return b.inTx(ctx, settings(batchWait, false), func(t *txn) error { return store(t, t.write) })
	})
	return applied && err == nil, err
}
