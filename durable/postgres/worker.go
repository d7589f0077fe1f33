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

// Heartbeat implements [backend.Backend]. A lost answer makes it renew a second time. The end
// of a lease waits for outcomes whose rows are locked.
func (b *postgresBackend) Heartbeat(ctx context.Context, worker int64, ttl time.Duration) (id int64, err error) {
	row := into(&id)
	var stmts []stmt
	switch {
	case ttl <= 0:
		b.returner.await(ctx, worker)
		b.free(ctx, worker) // others free the rows that are left, by Adopt
		stmts = []stmt{query(row, endLeaseSQL, worker)}
	case worker == 0:
		stmts = []stmt{execute(forgetSQL), query(row, registerSQL, int64(ttl))}
	default:
		stmts = []stmt{query(row, renewSQL, worker, int64(ttl))}
	}
	err = b.insist(ctx, func(ctx context.Context) error {
		id = 0 // a failed try may have set it
		return b.simple(ctx, stmts...)
	})
	switch {
	case err == nil && id == 0:
		err = backend.ErrLeaseLost
	case err == nil && ttl <= 0:
		b.freed()
	}
	return id, err
}

// freed makes all workers look for rows that one has leased: their marks may have passed them.
func (b *postgresBackend) freed() {
	b.look()
	b.Announce()
}

// asWorker runs f in a transaction, which fails if the worker's lease has ended. An async commit
// does not wait for the disk.
func (b *postgresBackend) asWorker(ctx context.Context, worker int64, async bool, f func(ctx context.Context, t *txn) error) error {
	return b.insist(ctx, func(ctx context.Context) error {
		var id int64
		before := append(b.settings(batchWait, async), query(into(&id), presentSQL, worker))
		return b.inTx(ctx, before, func(t *txn) error {
			err := f(ctx, t)
			if err == nil && id == 0 {
				return backend.ErrLeaseLost
			}
			return err
		})
	})
}

// Lease implements [backend.Backend]. It marks rows with the worker, so that no other
// one gets them, and claims overdue one-shots.
func (b *postgresBackend) Lease(ctx context.Context, req backend.LeaseRequest) ([]backend.Row, error) {
	schedules := [][]byte{}
	for _, s := range req.Schedules {
		schedules = append(schedules, []byte(s))
	}
	after := req.After.Due
	if b.options.QuietTx || !b.listening.Load() {
		after = 0 // no notification announces rows that are stored behind the mark
	}
	rows, err := b.take(ctx, req.Worker, req.Max, leaseSQL, after, req.Until, schedules)
	if backend.Payloads(rows) >= b.budget.bytes() {
		b.look() // for the rest
	}
	slices.SortFunc(rows, func(x, y backend.Row) int {
		return cmp.Or(cmp.Compare(x.Due, y.Due), cmp.Compare(x.Key, y.Key), cmp.Compare(x.Slot(), y.Slot()))
	})
	return rows, err
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

// take runs a statement that gives up to most rows to worker, and returns them. Large payloads end it
// early, so that the first rows fire while the others are read.
func (b *postgresBackend) take(ctx context.Context, worker int64, most int, sql string, args ...any) (rows []backend.Row, err error) {
	err = passOver(most, most, func(n, skip int) (int, error) {
		some, err := b.takeOnce(ctx, worker, n, skip, sql, args...)
		rows = append(rows, some...)
		return len(some), err
	})
	return rows, err
}

// passOver calls some until it has got most rows or finds no more. n is the number of rows to get, at
// most batch, after skip others. passOver passes over single rows that the database cannot read or
// rejects: it asks for fewer rows until it has found them. It also does so after a timeout.
func passOver(batch, most int, some func(n, skip int) (got int, err error)) error {
	var rejected error
	all, skip := 0, 0
	for n := batch; n > 0; {
		got, err := some(n, skip)
		all += got
		switch {
		case (concernsRow(err) || errors.Is(err, errSlow)) && n > 1:
			n /= 2
		case concernsRow(err):
			skip++
			rejected = err
		case err != nil || got < n:
			return cmp.Or(err, rejected)
		default:
			n *= 2
		}
		n = min(n, batch, most-all-skip)
	}
	return rejected
}

// takeOnce is take in one transaction. Damaged rows stay or become pending: All finds them, and
// Cancel deletes them. If the outcome of the transaction is unknown, takeOnce reads the rows again.
func (b *postgresBackend) takeOnce(ctx context.Context, worker int64, n, skip int, sql string, args ...any) ([]backend.Row, error) {
	var taken intact
	err := b.asWorker(ctx, worker, false, func(ctx context.Context, t *txn) error {
		taken = intact{}
		begun := time.Now()
		err := t.write(ctx, query(taken.scan, sql, append([]any{worker, int64(n), int64(skip), b.budget.bytes()}, args...)...))
		b.budget.adapt(err, time.Since(begun), b.options.Timeout)
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
		taken, err = b.owned(ctx, worker, r)
	}
	if err != nil {
		return nil, err
	}
	return taken.rows, taken.damaged
}

// owned reads the rows that worker holds.
func (b *postgresBackend) owned(ctx context.Context, worker int64, r refs) (held intact, err error) {
	err = b.insist(ctx, func(ctx context.Context) error {
		held = intact{}
		return b.simple(ctx, query(held.scan, ownedSQL, r.key, r.generation, worker))
	})
	return held, err
}

// Free implements [backend.Backend]. A row that another transaction has locked stays
// until the lease ends.
func (b *postgresBackend) Free(ctx context.Context, worker int64) error {
	_, err := b.free(ctx, worker)
	if err == nil {
		b.Announce() // others take the rows over
	}
	return err
}

// free is Free without the announcement, and returns the number of rows. It takes few rows at a time,
// since each round trip is bounded by Options.Timeout.
func (b *postgresBackend) free(ctx context.Context, worker int64) (all int, err error) {
	err = passOver(maxBatch, math.MaxInt, func(n, skip int) (freed int, err error) {
		err = b.insist(ctx, func(ctx context.Context) error {
			freed = 0
			err := b.simple(ctx, query(func(scanner) error { freed++; return nil }, freeSQL, worker, int64(n), int64(skip)))
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
func (b *postgresBackend) Adopt(ctx context.Context, worker int64, most int) ([]backend.Row, error) {
	var ended []int64
	err := b.asWorker(ctx, worker, true, func(ctx context.Context, t *txn) error {
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
		n, notFreed := b.free(ctx, from)
		freed += n
		rows, notTaken := b.take(ctx, worker, most-len(all), adoptSQL, from)
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
		b.freed()
	}
	if len(all) > 0 {
		err, rejected = nil, nil // the next call reports the error if it lasts
	}
	return all, cmp.Or(err, damaged, rejected)
}

// Claim implements [backend.Backend]. A row that another transaction has locked is not
// claimed: its lease is returned once the row is unlocked. That of a row whose claim the database
// rejects is returned after a pause.
func (b *postgresBackend) Claim(ctx context.Context, worker int64, claims []backend.Claim) ([]bool, error) {
	c := claiming{b: b, worker: worker, claims: claims, claimed: make([]bool, len(claims))}
	var simple, others []int                // simple are one-shots
	known := make(map[backend.Ref]struct{}) // a row is claimed once
	for i := range claims {
		if _, again := known[claims[i].Ref]; again {
			continue
		}
		known[claims[i].Ref] = struct{}{}
		if claims[i].Next == nil && !claims[i].Skip && claims[i].Due == 0 {
			simple = append(simple, i)
		} else {
			others = append(others, i)
		}
	}
	err := inHalves(ctx, simple, func(at []int) error { return c.run(ctx, at, c.simple) }, c.reject)
	if err != nil && !slices.Contains(c.claimed, true) {
		return nil, err
	}
	c.failed = errors.Join(c.failed, err)
	for n := 0; len(others) > 0; others = others[n:] {
		n = sharing(claims, others)
		err := inHalves(ctx, others[:n], func(at []int) error { return c.run(ctx, at, c.series) }, c.reject)
		if c.failed = errors.Join(c.failed, err); ctx.Err() != nil || errors.Is(err, backend.ErrLeaseLost) {
			break
		}
	}
	for i := range claims {
		if !c.claimed[i] { // it was overtaken, is locked, or failed: the other claims are stored
			b.returner.giveBack(worker, claims[i].Ref, 0)
		}
	}
	return c.claimed, c.failed
}

// sharing returns the number of claims at positions, from the first on, that share a transaction: it
// reads and writes their payloads. After a timeout, its repetition would find the rows locked.
func sharing(claims []backend.Claim, at []int) (n int) {
	for size := 0; n < len(at) && n < maxRewritten && size < maxBytes/8; n++ {
		if next := claims[at[n]].Next; next != nil {
			size += len(next.Payload)
		}
	}
	return n
}

// claiming is one call of Claim. at are positions in claims.
type claiming struct {
	b       *postgresBackend
	worker  int64
	claims  []backend.Claim
	claimed []bool // by position
	failed  error  // of single claims

	won     []bool // of a transaction, for each of its positions
	damaged error  // of its rows
}

func (c *claiming) reject(i int, err error) {
	c.b.returner.giveBack(c.worker, c.claims[i].Ref, maxRejectedPause)
	c.failed = errors.Join(c.failed, about(c.claims[i].Ref, err))
}

// run makes claims by f, in one transaction.
func (c *claiming) run(ctx context.Context, at []int, f func(ctx context.Context, t *txn, at []int, r refs) error) error {
	var r refs
	for _, i := range at {
		r.add(c.claims[i].Ref)
	}
	err := c.b.asWorker(ctx, c.worker, false, func(ctx context.Context, t *txn) error {
		c.won, c.damaged = make([]bool, len(at)), nil
		return f(ctx, t, at, r)
	})
	if errors.Is(err, errUnknown) {
		var held intact
		held, err = c.b.owned(ctx, c.worker, r)
		for n := range at {
			c.won[n] = slices.ContainsFunc(held.rows, func(row backend.Row) bool { return row.Ref() == r.at(n) && row.State == backend.Claimed })
		}
	}
	if err != nil {
		return err
	}
	for n, i := range at {
		c.claimed[i] = c.won[n]
	}
	c.failed = errors.Join(c.failed, c.damaged)
	return nil
}

// simple claims rows without a next occurrence by one statement.
func (c *claiming) simple(ctx context.Context, t *txn, _ []int, r refs) error {
	return t.write(ctx, query(scanPositions(c.won), claimSQL, r.key, r.generation, c.worker))
}

// series makes claims that store next occurrences or skip some. It leaves out rows that another
// transaction has locked.
func (c *claiming) series(ctx context.Context, t *txn, at []int, r refs) error {
	l, err := c.b.lockRefs(ctx, t, r, " SKIP LOCKED")
	if err != nil {
		return err
	}
	c.damaged = errors.Join(slices.Collect(maps.Values(l.damaged))...)
	var w writes
	for n, i := range at {
		var change backend.Change
		change, c.won[n] = c.claims[i].Decide(l.find(c.claims[i].Ref), c.worker, l.generations[n])
		w.add(l.rows[c.claims[i].Key], change)
	}
	return w.store(ctx, t)
}

// lockRefs locks the rows that r names, and leaves damaged ones aside. others is " SKIP LOCKED"
// or "", for rows that another transaction has locked.
func (b *postgresBackend) lockRefs(ctx context.Context, q querier, r refs, others string) (locked, error) {
	l := locked{rows: make(map[string][]backend.Row), damaged: make(map[backend.Ref]error)}
	intact := func(scan scanner) error {
		row, err := scanRow(scan)
		switch {
		case errors.Is(err, backend.ErrDamaged):
			l.damaged[row.Ref()] = err
			return nil
		case err == nil:
			l.rows[row.Key] = append(l.rows[row.Key], row)
		}
		return err
	}
	err := q.run(ctx, query(intact, lockNamedSQL+others, r.key, r.generation), b.takeGenerations(&l, len(r.key)))
	return l, err
}
