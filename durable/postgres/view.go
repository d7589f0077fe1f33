package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// Tx returns the operations on entries inside tx, a transaction on the store's database. It may
// belong to another pool or connection.
func (s *Store) Tx(tx pgx.Tx) durable.Tx {
	if tx == nil {
		return durable.NewTx(s.Store, nil)
	}
	return durable.NewTx(s.Store, view{s.backend, pgxQuerier{tx, s.backend.text}})
}

// SQLTx is Tx for a transaction of package database/sql, with any driver for PostgreSQL.
func (s *Store) SQLTx(tx *sql.Tx) durable.Tx {
	if tx == nil {
		return durable.NewTx(s.Store, nil)
	}
	return durable.NewTx(s.Store, view{s.backend, sqlQuerier{tx, s.backend.text}})
}

// view implements [backend.Tx] in a transaction of the caller.
type view struct {
	b *postgresBackend
	q querier
}

// Apply implements [backend.Tx].
func (v view) Apply(ctx context.Context, ops []backend.Op) ([]backend.Result, error) {
	if v.b.ctx.Err() != nil {
		return nil, backend.ErrClosed
	}
	results := make([]backend.Result, 0, len(ops))
	for i := range ops {
		one, err := v.applyOne(ctx, ops[i:i+1])
		if err != nil {
			return nil, described(err)
		}
		results = append(results, one...)
	}
	if err := v.checkVisible(ctx, results); err != nil {
		return nil, err
	}
	return results, v.notifyNear(ctx, results)
}

// checkVisible returns an error if a row was not found and may be hidden from the role. Of the
// caller's transaction, the store leaves row_security alone.
func (v view) checkVisible(ctx context.Context, results []backend.Result) error {
	if !slices.ContainsFunc(results, func(r backend.Result) bool { return errors.Is(r.Err, backend.ErrNotFound) }) {
		return nil
	}
	var hidden []string
	if err := v.q.run(ctx, query(each(&hidden), hiddenSQL)); err != nil {
		return described(err)
	}
	return hiddenError(hidden)
}

// applyOne performs one operation. applyOne looks again if a row has appeared: every
// statement sees earlier commits.
func (v view) applyOne(ctx context.Context, ops []backend.Op) ([]backend.Result, error) {
	if full := v.b.sizes.full(&ops[0]); full != nil {
		return []backend.Result{{Err: full}}, nil
	}
	for {
		results, err := applyOps(ctx, v.q, ops)
		if err != errMissed {
			return results, err
		}
	}
}

// txSlack is the longest time from a notification to the commit for which no entry is late.
const txSlack = time.Minute

// notifyNear announces stored rows that may be due soon after the commit, which comes up to
// txSlack later. An unnecessary look is cheap; a missing look delays an entry.
func (v view) notifyNear(ctx context.Context, results []backend.Result) error {
	var due []int64
	for _, r := range results {
		if r.Err == nil && r.Row.State == backend.Pending {
			due = append(due, r.Row.Due)
		}
	}
	if len(due) == 0 || v.b.options.QuietTx {
		return nil
	}
	return v.q.run(ctx, query(nil, notifyNearSQL, v.b.channel(), due, int64(lead+txSlack)))
}

// Finish implements [backend.Tx].
func (v view) Finish(ctx context.Context, worker int64, outcomes []backend.Outcome) (applied []bool, err error) {
	applied = make([]bool, len(outcomes))
	for i := range outcomes {
		if applied[i], err = v.finishOne(ctx, worker, &outcomes[i]); err != nil {
			return nil, described(err)
		}
	}
	return applied, nil
}

// finishOne stores one outcome, and reports whether the outcome applies. finishOne locks the key's
// main row first, as lockKeysSQL says: the transaction may set the key afterwards.
func (v view) finishOne(ctx context.Context, worker int64, o *backend.Outcome) (bool, error) {
	var r refs
	r.add(o.Ref)
	if err := v.q.run(ctx, query(nil, lockKeysSQL, r.key)); err != nil {
		return false, err
	}
	for range 2 { // a row that moved aside is found by the second look
		l, err := lockRefs(ctx, v.q, r, "")
		if err = cmp.Or(err, l.damaged[o.Ref]); err != nil {
			return false, err
		}
		if change, applies := o.Decide(l.find(o.Ref), worker, l.now, l.generations[0]); applies {
			var w writes
			w.add(l.rows[o.Key], change)
			return true, w.store(ctx, v.q)
		}
	}
	return false, nil
}

// Get implements [backend.Tx].
func (v view) Get(ctx context.Context, key string) (backend.Row, error) {
	row, err := first(v.read(ctx, getSQL, []byte(key)))
	return row, cmp.Or(v.checkVisible(ctx, []backend.Result{{Err: err}}), err)
}

// Page implements [backend.Tx].
func (v view) Page(ctx context.Context, prefix string, after backend.Cursor, most int, claimed bool) ([]backend.Row, error) {
	return v.read(ctx, pageSQL, v.b.span(prefix, after.Key, after.Slot, most, claimed)...)
}

// read returns the rows of a query. An error comes with the rows before it.
func (v view) read(ctx context.Context, sql string, args ...any) (all []backend.Row, err error) {
	err = v.q.run(ctx, query(appending(&all, scanEntry), sql, args...))
	return all, described(err)
}
