package postgres

import (
	"context"

	"github.com/hashedwheel/hwt/durable/backend"
)

// applyOps performs ops by q. The keys of ops differ.
func applyOps(ctx context.Context, q querier, ops []backend.Op) ([]backend.Result, error) {
	l, err := lockKeys(ctx, q, ops)
	if err != nil {
		return nil, err
	}
	results := make([]backend.Result, len(ops))
	var w writes
	var letters refs // to delete
	for i := range ops {
		change := l.decide(&ops[i], l.generations[i])
		w.add(l.rows[ops[i].Row.Key], change)
		if change.DeleteDead {
			letters.add(letter(&ops[i]))
		}
		results[i] = change.Result
	}
	removals, last := l.removals, l.last
	err = w.store(ctx, q, query(into(&removals, &last), removalsSQL))
	if err == nil {
		err = renew(ctx, q, ops, &l, results, removals != l.removals || last >= l.last+recent)
	}
	if err == nil && len(letters.key) > 0 { // not before the rows that replace them are stored
		err = q.write(ctx, execute(removeDeadSQL, letters.key, letters.generation))
	}
	return results, err
}

// renew gives new generations to stored rows with generations that may be too small. No lock
// protects an absent row: if others were removed since, another process may have stored and
// removed a version of the key after the generations of l were taken. From the insertion on,
// the row's own lock does. A detached row may have been retried since: renew locks it.
func renew(ctx context.Context, q querier, ops []backend.Op, l *locked, results []backend.Result, removed bool) error {
	var at []int
	var detached [][]byte // keys
	for i := range ops {
		rows := l.rows[ops[i].Row.Key]
		beside := len(rows) > 0 && rows[len(rows)-1].Detached
		stored := results[i].Err == nil && results[i].Row.Generation == l.generations[i]
		if stored && (beside || removed && !hasMain(rows)) {
			at = append(at, i)
		}
		if stored && beside {
			detached = append(detached, []byte(ops[i].Row.Key))
		}
	}
	if len(at) == 0 {
		return nil
	}
	var again locked
	var stmts []stmt
	if len(detached) > 0 {
		stmts = append(stmts, query(nil, lockDetachedSQL, detached))
	}
	if err := q.run(ctx, append(stmts, again.takeGenerations(len(at)))...); err != nil {
		return err
	}
	var w writes
	for n, i := range at {
		old := results[i].Row
		results[i] = l.decide(&ops[i], again.generations[n]).Result
		if w.update(&results[i].Row, old.Slot()); old.Detached {
			w.newest = int64(again.generations[n])
		}
	}
	return w.store(ctx, q)
}
