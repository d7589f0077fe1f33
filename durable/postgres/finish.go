package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Finish implements [backend.Backend]. Done commits asynchronously: if the server loses
// it, the firing repeats with the same ID. If a caller's transaction has locked a row, the
// returner stores the outcome later. The outcome of a damaged row is logged and dropped: it
// must not fail the others.
func (b *Backend) Finish(ctx context.Context, tx any, worker int64, outcomes []backend.Outcome) (applied []bool, err error) {
	if tx != nil {
		return b.finishInTx(ctx, tx, worker, outcomes)
	}
	for len(outcomes) > 0 {
		n := distinct(outcomes)
		some, locked, err := b.finish(ctx, worker, outcomes[:n])
		if err != nil {
			return nil, err
		}
		for i, o := range outcomes[:n] {
			if locked[o.Ref] {
				b.returner.finish(worker, o)
				some[i] = true
			}
		}
		applied, outcomes = append(applied, some...), outcomes[n:]
	}
	return applied, nil
}

// distinct returns the number of outcomes before the second one for the same row.
func distinct(outcomes []backend.Outcome) int {
	known := make(map[backend.Ref]struct{})
	for i := range outcomes {
		if _, again := known[outcomes[i].Ref]; again {
			return i
		}
		known[outcomes[i].Ref] = struct{}{}
	}
	return len(outcomes)
}

// finish stores outcomes of different rows: Done in one transaction, the other fates in
// another one. It names the rows that were locked, or moved aside meanwhile.
func (b *Backend) finish(ctx context.Context, worker int64, outcomes []backend.Outcome) (applied []bool, locked map[backend.Ref]bool, err error) {
	applied = make([]bool, len(outcomes))
	met := make([]bool, len(outcomes)) // rows that are not locked
	var done, others []int
	for i := range outcomes {
		if outcomes[i].Fate == backend.Done {
			done = append(done, i)
		} else {
			others = append(others, i)
		}
	}
	err = errors.Join(b.finishDone(ctx, outcomes, done, applied, met), b.finishOthers(ctx, worker, outcomes, others, applied, met))
	if err != nil || !slices.Contains(met, false) {
		return applied, nil, err
	}
	var r refs
	for i := range outcomes {
		if !met[i] {
			r.add(outcomes[i].Ref)
		}
	}
	locked, err = b.find(ctx, b.sql.existing, r.key, r.generation)
	return applied, locked, err
}

// finishDone deletes the rows of the outcomes at positions, except locked ones.
func (b *Backend) finishDone(ctx context.Context, outcomes []backend.Outcome, at []int, applied, met []bool) error {
	if len(at) == 0 {
		return nil
	}
	r := refsAt(outcomes, at)
	var gone []bool
	err := b.insist(ctx, func(ctx context.Context) error {
		return b.inTx(ctx, b.settings(batchWait, true), func(t *txn) error {
			gone = make([]bool, len(at))
			return t.write(ctx, query(scanPositions(gone), b.sql.done, r.key, r.generation), execute(b.sql.countRemoval, slices.Max(r.generation)))
		})
	})
	for n := range gone {
		applied[at[n]], met[at[n]] = gone[n], gone[n]
	}
	return err
}

// finishOthers stores the outcomes at positions, except those of locked rows. If it fails for
// the sake of one outcome, it stores each in its own transaction.
func (b *Backend) finishOthers(ctx context.Context, worker int64, outcomes []backend.Outcome, at []int, applied, met []bool) error {
	if len(at) == 0 {
		return nil
	}
	var damaged map[backend.Ref]error
	err := b.insist(ctx, func(ctx context.Context) error {
		return b.inTx(ctx, b.settings(batchWait, false), func(t *txn) error {
			l, err := b.lockRefs(ctx, t, refsAt(outcomes, at), " SKIP LOCKED")
			if err != nil {
				return err
			}
			damaged = l.damaged
			var w writes
			for n, i := range at {
				o := &outcomes[i]
				row := l.find(o.Ref)
				met[i] = row != nil || damaged[o.Ref] != nil
				var change backend.Change
				change, applied[i] = o.Decide(row, worker, l.now, l.generations[n])
				w.add(l.rows[o.Key], change)
			}
			return w.store(ctx, &b.sql, t.write)
		})
	})
	if err != nil && len(at) > 1 && ctx.Err() == nil && err != errUnknown && err != backend.ErrClosed {
		err = nil
		for n := range at {
			err = errors.Join(err, b.finishOthers(ctx, worker, outcomes, at[n:n+1], applied, met))
		}
		return err
	}
	for _, damage := range damaged {
		b.options.Logger.Error("durable: the outcome of a damaged entry is lost", "error", damage)
	}
	return err
}

func refsAt(outcomes []backend.Outcome, at []int) (r refs) {
	for _, i := range at {
		r.add(outcomes[i].Ref)
	}
	return r
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

// finishInTx stores outcomes in a caller's transaction.
func (b *Backend) finishInTx(ctx context.Context, tx any, worker int64, outcomes []backend.Outcome) ([]bool, error) {
	q, err := callersTx(tx)
	if err != nil {
		return nil, err
	}
	applied := make([]bool, len(outcomes))
	for i := range outcomes {
		if applied[i], err = b.finishOne(ctx, q, worker, &outcomes[i]); err != nil {
			return nil, described(err)
		}
	}
	return applied, nil
}

// finishOne stores one outcome in a caller's transaction, and reports whether it applies.
func (b *Backend) finishOne(ctx context.Context, q querier, worker int64, o *backend.Outcome) (bool, error) {
	var r refs
	r.add(o.Ref)
	for range 2 { // a row that moved aside is found by the second look
		l, err := b.lockRefs(ctx, q, r, "")
		if err = cmp.Or(err, l.damaged[o.Ref]); err != nil {
			return false, err
		}
		if change, applies := o.Decide(l.find(o.Ref), worker, l.now, l.generations[0]); applies {
			var w writes
			w.add(l.rows[o.Key], change)
			return true, w.store(ctx, &b.sql, q.run)
		}
	}
	return false, nil
}
