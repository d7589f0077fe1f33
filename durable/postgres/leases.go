package postgres

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// leases are the leases of workers, and of the rows that workers have leased.
type leases struct {
	*session
	announcer *announcer
	returner  *returner
}

// Heartbeat implements [backend.Backend]. A lost answer makes it renew a second time. The end
// of a lease waits for outcomes of locked rows.
func (l *leases) Heartbeat(ctx context.Context, worker int64, ttl time.Duration) (id int64, err error) {
	row := into(&id)
	var stmts []stmt
	switch {
	case ttl <= 0:
		l.returner.await(ctx, worker)
		l.free(ctx, worker) // others free the rows that are left, by Adopt
		stmts = []stmt{query(row, endLeaseSQL, worker)}
	case worker == 0:
		stmts = []stmt{execute(forgetSQL), query(row, registerSQL, int64(ttl))}
	default:
		stmts = []stmt{query(row, renewSQL, worker, int64(ttl))}
	}
	err = l.insist(ctx, func(ctx context.Context) error {
		id = 0 // a failed try may have set it
		return l.simple(ctx, stmts...)
	})
	switch {
	case err == nil && id == 0:
		err = backend.ErrLeaseLost
	case err == nil && ttl <= 0:
		l.announcer.freed()
	}
	return id, err
}

// asWorker runs f in a transaction. The transaction fails if the worker's lease has ended. An
// async commit does not wait for the disk.
func (l *leases) asWorker(ctx context.Context, worker int64, async bool, f func(ctx context.Context, t *txn) error) error {
	return l.insist(ctx, func(ctx context.Context) error {
		var id int64
		before := append(l.settings(batchWait, async), query(nil, sharePausesSQL, l.options.Schema), query(into(&id), presentSQL, worker))
		return l.inTx(ctx, before, func(t *txn) error {
			err := f(ctx, t)
			if err == nil && id == 0 {
				return backend.ErrLeaseLost
			}
			return err
		})
	})
}

// intact collects rows that are not damaged, and the damage of the others.
type intact struct {
	rows    []backend.Row
	damaged error
	slots   refs // keys and slots of the damaged ones
}

func (in *intact) scan(scan scanner) error {
	r, err := scanRow(scan)
	damage := (*backend.Damage)(nil)
	switch {
	case errors.As(err, &damage):
		in.damaged = errors.Join(in.damaged, err)
		in.slots.add(backend.Ref{Key: damage.Key, Generation: damage.Slot})
		return nil
	case err == nil:
		in.rows = append(in.rows, r)
	}
	return err
}

// take runs a statement that gives up to most rows to worker, and returns the rows. Large payloads
// end the statement early, so that the first rows fire while the others are read.
func (l *leases) take(ctx context.Context, worker int64, most int, sql string, args ...any) (rows []backend.Row, err error) {
	err = passOver(most, most, func(n, skip int) (int, error) {
		some, err := l.takeOnce(ctx, worker, n, skip, sql, args...)
		rows = append(rows, some...)
		return len(some), err
	})
	return rows, err
}

// takeOnce is take in one transaction. Damaged rows stay or become pending: All finds damaged rows,
// and Cancel deletes them. If the outcome of the transaction is unknown, takeOnce returns the rows that worker holds, beside an
// error: the others may still be there. Claim may have claimed some of the rows.
func (l *leases) takeOnce(ctx context.Context, worker int64, n, skip int, sql string, args ...any) ([]backend.Row, error) {
	var taken intact
	err := l.asWorker(ctx, worker, false, func(ctx context.Context, t *txn) error {
		taken = intact{}
		begun := time.Now()
		err := t.write(ctx, query(taken.scan, sql, append([]any{worker, int64(n), int64(skip), l.budget.bytes()}, args...)...))
		l.budget.adapt(err, time.Since(begun), l.options.Timeout)
		if err != nil || taken.damaged == nil {
			return err
		}
		return t.run(ctx, execute(unclaimSQL, taken.slots.key, taken.slots.generation, worker))
	})
	if errors.Is(err, errUnknown) {
		var r refs
		for i := range taken.rows {
			r.add(taken.rows[i].Ref())
		}
		held, failed := l.owned(ctx, worker, r)
		for i := range held.rows {
			held.rows[i].Tried = held.rows[i].State == backend.Claimed
		}
		return held.rows, cmp.Or(failed, err)
	}
	if err != nil {
		return nil, err
	}
	return taken.rows, taken.damaged
}

// owned reads the rows that worker holds. It locks the others, too: a transaction with a lost answer may still be at its COMMIT.
func (l *leases) owned(ctx context.Context, worker int64, r refs) (held intact, err error) {
	err = l.insist(ctx, func(ctx context.Context) error {
		held = intact{}
		return l.simple(ctx, query(held.scan, lockNamedSQL, r.key, r.generation))
	})
	held.rows = slices.DeleteFunc(held.rows, func(row backend.Row) bool { return row.Holder != worker })
	return held, err
}

// Free implements [backend.Backend]. A row that another transaction has locked stays
// until the lease ends.
func (l *leases) Free(ctx context.Context, worker int64) error {
	_, err := l.free(ctx, worker)
	if err == nil {
		l.announcer.Announce() // others take the rows over
	}
	return err
}

// free is Free without the announcement, and returns the number of rows. It takes few rows at a time,
// since each round trip is bounded by Options.Timeout.
func (l *leases) free(ctx context.Context, worker int64) (all int, err error) {
	err = passOver(maxBatch, math.MaxInt, func(n, skip int) (freed int, err error) {
		err = l.insist(ctx, func(ctx context.Context) error {
			freed = 0
			err := l.simple(ctx, query(func(scanner) error { freed++; return nil }, freeSQL, worker, int64(n), int64(skip)))
			return divisible(n, err)
		})
		if err != nil {
			return 0, err
		}
		all += freed
		return freed, nil
	})
	return all, err
}

// Adopt implements [backend.Backend].
func (l *leases) Adopt(ctx context.Context, worker int64, kinds []string, most int) ([]backend.Row, error) {
	var ended []int64
	err := l.asWorker(ctx, worker, true, func(ctx context.Context, t *txn) error {
		ended = nil
		return t.run(ctx, query(each(&ended), endedWorkersSQL))
	})
	var all []backend.Row
	var damaged, rejected error // single rows
	freed := 0
	for _, from := range ended {
		if err != nil || len(all) >= most {
			break
		}
		if l.returner.repeats(from) {
			continue
		}
		n, notFreed := l.free(ctx, from)
		freed += n
		rows, notTaken := l.take(ctx, worker, most-len(all), adoptSQL, from, manyOctets(kinds))
		all = append(all, rows...)
		for _, e := range []error{notFreed, notTaken} {
			switch {
			case errors.Is(e, backend.ErrDamaged):
				damaged = errors.Join(damaged, e)
			case concernsRow(e):
				rejected = e
			default:
				err = cmp.Or(err, e)
			}
		}
	}
	if freed > 0 {
		l.announcer.freed()
	}
	if len(all) > 0 {
		err, rejected = nil, nil // the next call reports the error if it lasts
	}
	return all, cmp.Or(err, damaged, rejected)
}
