package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/hashedwheel/hwt/durable/backend"
)

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
	var failed error                  // of outcomes that are stored one by one
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
		if q != nil {
			applied[i], _, err = b.finishOne(ctx, q, q.run, "", worker, o)
			err = described(err)
		} else {
			applied[i], err = b.finishAlone(ctx, worker, o)
		}
		failed = errors.Join(failed, err)
	}
	if err := errors.Join(failed, b.finishDone(ctx, done, applied)); err != nil {
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
	var at []int
	for ref, i := range done {
		r.add(ref)
		at = append(at, i)
	}
	gone, err := b.deleteDone(ctx, r)
	if err != nil {
		return err
	}
	for i, deleted := range gone {
		applied[at[i]] = deleted
	}
	if slices.Contains(gone, false) {
		left, err := b.find(ctx, b.sql.existing, r.key, r.generation)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			b.returner.delete(left)
		}
		for ref := range left {
			applied[done[ref]] = true
		}
	}
	clear(done)
	return nil
}

// deleteDone deletes the rows that are not locked, and reports which those are.
func (b *Backend) deleteDone(ctx context.Context, r refs) (gone []bool, err error) {
	err = b.insist(ctx, func(ctx context.Context) error {
		return b.inTx(ctx, b.settings(batchWait, true), func(t *txn) error {
			gone = make([]bool, len(r.key))
			return t.write(ctx, query(scanPositions(gone), b.sql.done, r.key, r.generation), execute(b.sql.countRemoval, slices.Max(r.generation)))
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

// finishAlone stores one outcome in its own transaction. If a caller's transaction has locked
// the row, the returner stores it later.
func (b *Backend) finishAlone(ctx context.Context, worker int64, o *backend.Outcome) (applied bool, err error) {
	applied, found, err := b.tryFinish(ctx, worker, o)
	if err != nil || found {
		return applied, err
	}
	left, err := b.find(ctx, b.sql.existing, [][]byte{[]byte(o.Key)}, []int64{int64(o.Generation)})
	if err == nil && len(left) > 0 {
		b.returner.finish(worker, o)
		applied = true
	}
	return applied, err
}

// tryFinish is finishAlone for a row that is not locked. It reports whether it found the row.
func (b *Backend) tryFinish(ctx context.Context, worker int64, o *backend.Outcome) (applied, found bool, err error) {
	err = b.insist(ctx, func(ctx context.Context) error {
		return b.inTx(ctx, b.settings(batchWait, false), func(t *txn) (err error) {
			applied, found, err = b.finishOne(ctx, t, t.write, " SKIP LOCKED", worker, o)
			return err
		})
	})
	return applied && err == nil, found, err
}

// finishOne stores one outcome in a transaction, and reports whether it applies, and whether
// the row was found. others is that of lockRef.
func (b *Backend) finishOne(ctx context.Context, q querier, write func(context.Context, ...stmt) error, others string,
	worker int64, o *backend.Outcome) (applied, found bool, err error) {
	for range 2 { // a row that moved aside is found by the second look
		l, err := b.lockRef(ctx, q, o.Ref, others)
		if err != nil {
			return false, false, err
		}
		row := l.find(o.Ref)
		found = found || row != nil
		var change backend.Change
		if change, applied = o.Decide(row, worker, l.now, l.generations[0]); applied {
			var w writes
			w.add(l.rows[o.Key], change)
			return true, true, w.store(ctx, &b.sql, write)
		}
	}
	return false, found, nil
}
