package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/hashedwheel/hwt/durable/backend"
)

// concernsRow reports whether err, of a change of many rows, may be due to one of them: a constraint, or a trigger of
// the user and the functions that the trigger calls.
func concernsRow(err error) bool {
	for _, code := range [...]sqlite3.ErrorCode{sqlite3.CONSTRAINT, sqlite3.ERROR, sqlite3.MISMATCH, sqlite3.TOOBIG} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// each calls f with 0 to n-1. If the transaction sets rejected changes apart, an error that concerns the row of a call
// undoes only the changes of the call.
func each(t *txn, n int, f func(i int) error) (err error) {
	for i := 0; i < n && err == nil; i++ {
		switch {
		case t.rejected == nil:
			err = f(i)
		case t.rejected[i] == nil:
			err = isolate(t, i, f)
		}
	}
	return err
}

// isolate calls f in a savepoint. If a trigger rolls the transaction back, the transaction is to be repeated without the call.
func isolate(t *txn, i int, f func(i int) error) error {
	if err := t.c.run("SAVEPOINT hwt"); err != nil {
		return err
	}
	before := t.s
	err := f(i)
	if concernsRow(err) {
		t.rejected[i] = err
		if t.c.GetAutocommit() {
			t.undoing[i] = err
			return err
		}
		t.s, err = before, t.c.run("ROLLBACK TO hwt")
	}
	if err != nil {
		return err
	}
	return t.c.run("RELEASE hwt")
}

// firstOf returns the error of the first rejected change, with the name of its row, or nil.
func firstOf(rejected map[int]error, ref func(i int) backend.Ref) error {
	if len(rejected) == 0 {
		return nil
	}
	i := slices.Min(slices.Collect(maps.Keys(rejected)))
	return fmt.Errorf("key %.64q, generation %d: %w", ref(i).Key, ref(i).Generation, rejected[i])
}

// doEach is do for a function that calls each once, for changes of n rows. It returns the errors of changes that SQLite
// rejects, by their positions; the others are stored. Each run begins without the rejections of the previous run:
// a job that has left the group may have caused these rejections. A change that rolled back the last run of a call of
// do stays rejected in the next call.
func (q *queue) doEach(ctx context.Context, n int, run func(*txn) error) (map[int]error, error) {
	var rejected map[int]error
	undoing := make(map[int]error)
	err := q.do(ctx, n, run)
	for before := -1; concernsRow(err) && len(undoing) > before; {
		known := undoing
		before = len(known)
		err = q.do(ctx, n, func(t *txn) error {
			rejected, undoing = maps.Clone(known), maps.Clone(known)
			t.rejected, t.undoing = rejected, undoing
			defer func() { t.rejected = nil }()
			return run(t)
		})
	}
	if err != nil {
		return nil, err // the writer may still change rejected, see S2
	}
	return rejected, nil
}

// at returns the rejected outcomes.
func at(outcomes []backend.Outcome, rejected map[int]error) (some []backend.Outcome) {
	for i := range outcomes {
		if rejected[i] != nil {
			some = append(some, outcomes[i])
		}
	}
	return some
}

// maxRejected bounds the memory of outcomes that SQLite rejects. Beyond the bound, workers keep them.
const maxRejected = 1000

// rejections keeps the outcomes that SQLite rejects, for later tries: they may fail forever.
type rejections struct {
	queue    *queue
	announce func(rows []backend.Row) // asks workers for a look

	mu  sync.Mutex
	all map[int64][]backend.Outcome // by worker. Guarded by mu.
	n   int                         // number of outcomes, also of those that are tried. Guarded by mu.
}

// keep takes over outcomes of a worker, and reports whether there is room.
func (r *rejections) keep(worker int64, some []backend.Outcome) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	room := len(some) <= maxRejected-r.n
	if room && len(some) > 0 {
		r.add(worker, some)
		r.n += len(some)
	}
	return room
}

// some reports whether there are outcomes.
func (r *rejections) some() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n > 0
}

// take returns all outcomes for a try. They keep their room until putBack.
func (r *rejections) take() (all map[int64][]backend.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, r.all = r.all, nil
	return all
}

// putBack keeps the rest of the outcomes of a worker that were tried.
func (r *rejections) putBack(worker int64, rest []backend.Outcome, tried int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n -= tried - len(rest); len(rest) > 0 {
		r.add(worker, rest)
	}
}

// add adds outcomes of a worker. The caller holds mu.
func (r *rejections) add(worker int64, some []backend.Outcome) {
	if r.all == nil {
		r.all = make(map[int64][]backend.Outcome)
	}
	r.all[worker] = append(r.all[worker], some...)
}
