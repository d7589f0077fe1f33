package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Heartbeat implements backend.Backend. The row of a worker that has left stays until
// Adopt finds nothing that it holds. Many handlers may wait for transactions: behind them, the
// lease would end.
func (b *sqliteBackend) Heartbeat(ctx context.Context, worker int64, ttl time.Duration) (int64, error) {
	b.held.use(ttl)
	id := worker
	if ttl <= 0 {
		b.rejections.retry(ctx)
	}
	err := b.wait(ctx, &job{first: true, size: 1, done: make(chan struct{}), run: func(t *txn) error {
		now := time.Now()
		expires := int64(0) // a worker that leaves has stored all outcomes: its claims wait for nothing
		if ttl > 0 {
			expires = now.Add(ttl).UnixNano()
		}
		id = worker
		if id == 0 {
			t.s.worker++
			id = t.s.worker
			_, err := t.c.query("INSERT INTO hwt_workers (id, expires, limits) SELECT ?, ?, coalesce(max(version), 0) FROM hwt_limits").
				int(id).int(expires).exec()
			return err
		}
		n, err := t.c.query("UPDATE hwt_workers SET expires = ?2 WHERE id = ?1 AND expires > ?3").
			int(id).int(expires).int(now.UnixNano()).exec()
		if n == 0 {
			id = 0
		}
		return err
	}})
	if err != nil {
		return 0, err // the writer may still change id, see S2
	}
	if id == 0 {
		return 0, backend.ErrLeaseLost
	}
	if ttl > 0 && b.rejections.some() && b.readerPool.begin() == nil {
		go func() { // the worker waits for the answer
			defer b.tasks.Done()
			b.rejections.retry(b.life)
		}()
	}
	return id, nil
}

// alive returns ErrLeaseLost if the worker's lease has ended.
func (c *conn) alive(worker int64) error {
	n, err := c.query("SELECT count(*) FROM hwt_workers WHERE id = ? AND expires > ?").int(worker).int(time.Now().UnixNano()).integer()
	if err == nil && n == 0 {
		err = backend.ErrLeaseLost
	}
	return err
}

// unreadable returns an error that does not pass for damage of single rows, because workers
// skip damaged rows.
func unreadable(err error) error {
	if errors.Is(err, backend.ErrDamaged) {
		return fmt.Errorf("the file cannot be read further; see Verify: %v", err)
	}
	return err
}

// intact returns up to n rows of the result that are not damaged, or those up to the row at which
// the payloads reach BatchBytes, and the damage of those between them.
func (q *query) intact(n int) (rows []backend.Row, damaged, err error) {
	bytes := 0
	err = q.each(func(q *query) error {
		r, err := scan(q)
		if err != nil {
			damaged = errors.Join(damaged, err)
			return nil
		}
		rows = append(rows, r)
		if bytes += len(r.Payload); len(rows) == n || bytes >= backend.BatchBytes {
			return errEnough
		}
		return nil
	})
	return rows, damaged, err
}

// Free implements backend.Backend. Lease marks no row.
func (b *sqliteBackend) Free(context.Context, int64) error { return nil }

// Adopt implements backend.Backend.
func (b *sqliteBackend) Adopt(ctx context.Context, worker int64, kinds []string, n int) ([]backend.Row, error) {
	rows, damaged, err := b.adopt(ctx, worker, kinds, n)
	if err != nil {
		return nil, unreadable(err)
	}
	return rows, damaged
}

// adopt returns the adopted rows, and the damage of others. It looks for the rows before the
// transaction: a store with a backlog has many rows to look at, and the lock of the file would
// keep the leases of others from being renewed.
func (b *sqliteBackend) adopt(ctx context.Context, worker int64, kinds []string, n int) (_ []backend.Row, damaged, err error) {
	s := search{at: time.Now()}
	err = b.read(ctx, func(c *conn) error {
		if s.gone, err = c.gone(&b.held); err == nil && len(s.gone) > 0 {
			s.stopped, err = pauses(c)
		}
		return err
	})
	if err != nil || len(s.gone) == 0 {
		return nil, nil, err
	}
	if last, vain := b.searches.inVain(kinds, &s); vain {
		return nil, last.damaged, nil
	}
	// An empty transaction: the claims of these workers are committed then, and no others follow.
	if err := b.do(ctx, 1, func(t *txn) error { return t.c.alive(worker) }); err != nil {
		return nil, nil, err
	}
	var found []backend.Row
	var all, passed bool
	err = b.read(ctx, func(c *conn) error {
		found, all, s.damaged, err = c.claimedBy(s.gone, n, func(r *backend.Row) bool {
			if len(kinds) > 0 && !slices.Contains(kinds, backend.KindOf(r.Key)) ||
				slices.ContainsFunc(s.stopped, func(p backend.Pause) bool { return p.Has(r) }) {
				return true
			}
			known := b.searches.passesOver(kinds, r.Ref())
			passed = passed || known
			return known
		})
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	more := len(found) == n || backend.Payloads(found) >= backend.BatchBytes
	if passed && !more {
		b.searches.forget(kinds)
	}
	if len(found) == 0 && !all {
		if !passed {
			b.searches.note(kinds, s)
		}
		return nil, s.damaged, nil
	}
	var rows []backend.Row
	rejected, err := b.doEach(ctx, len(found)+1, func(t *txn) (err error) {
		rows, err = t.adopt(worker, s.gone, found, all)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if more { // up to the search that finds no more
		b.searches.passOver(kinds, found, rejected)
	}
	return rows, errors.Join(s.damaged, firstOf(rejected, func(i int) backend.Ref { return found[i].Ref() })), nil
}

// adopt adopts the found rows that are still held by workers without a lease. If these are all,
// it deletes the workers.
func (t *txn) adopt(worker int64, gone []int64, found []backend.Row, all bool) (rows []backend.Row, err error) {
	if err := t.c.alive(worker); err != nil {
		return nil, err
	}
	still, err := t.c.gone(&t.w.held)
	if err != nil {
		return nil, err
	}
	gone = slices.DeleteFunc(slices.Clone(gone), func(id int64) bool { return !slices.Contains(still, id) })
	err = each(t, len(found), func(i int) error {
		r := &found[i]
		if !slices.Contains(gone, r.Holder) {
			return nil
		}
		if t.s.pauses > 0 {
			if waits, err := isPaused(t.c, r.Ref()); waits || err != nil { // since the search
				all = false
				return err
			}
		}
		adopted := r.AdoptedBy(worker)
		// A Set may have moved the row aside since.
		changed, err := t.c.query("UPDATE hwt_entries SET holder = ?3, crashes = ?5, sum = " + marked + " WHERE key = ?1 AND slot IN (0, ?2) AND gen = ?2 AND holder = ?4").
			blob(r.Key).int(int64(r.Generation)).int(worker).int(r.Holder).int(adopted.StoredCrashes()).exec()
		if changed > 0 && err == nil { // it is neither done nor adopted by another worker
			rows = append(rows, adopted)
		}
		return err
	})
	all = all && len(t.rejected) == 0
	for i := 0; all && i < len(gone) && err == nil; i++ {
		_, err = t.c.query("DELETE FROM hwt_workers WHERE id = ?").int(gone[i]).exec()
	}
	if all && err == nil { // also those of workers that an older release has deleted
		_, err = t.c.query("DELETE FROM hwt_permits WHERE worker NOT IN (SELECT id FROM hwt_workers)").exec()
	}
	return rows, err
}

// gone returns the workers that have lost their leases.
func (c *conn) gone(held *lockTimes) (workers []int64, err error) {
	now := time.Now().UnixNano()
	err = c.query("SELECT id, expires FROM hwt_workers WHERE expires <= ?").int(now).each(func(q *query) error {
		if held.ended(q.s.ColumnInt64(1), now) {
			workers = append(workers, q.s.ColumnInt64(0))
		}
		return nil
	})
	return workers, err
}

// claimedBy returns up to n intact rows that workers have claimed, except rows for which leave is true. It also returns whether
// these are all, and the damage of others. Payloads of BatchBytes end the search early. It reads up to the last claimed row,
// in the order of due times.
func (c *conn) claimedBy(workers []int64, n int, leave func(r *backend.Row) bool) (found []backend.Row, all bool, damaged, err error) {
	bytes, all := 0, true
	err = c.query("SELECT " + columns + ` FROM hwt_entries AS t INDEXED BY hwt_due WHERE holder > 0 AND ` + heldWell + `
		ORDER BY due, key, slot LIMIT (SELECT claimed FROM hwt_store)`).each(func(q *query) error {
		if !slices.Contains(workers, q.s.ColumnInt64(4)) {
			return nil
		}
		if len(found) == n || bytes >= backend.BatchBytes {
			all = false
			return errEnough
		}
		r, err := scan(q)
		if err != nil {
			damaged, all = errors.Join(damaged, err), false
			return nil
		}
		if leave(&r) {
			all = false
			return nil
		}
		found = append(found, r)
		bytes += len(r.Payload)
		return nil
	})
	return found, all, damaged, err
}

// Claim implements backend.Backend.
func (b *sqliteBackend) Claim(ctx context.Context, worker int64, claims []backend.Claim) ([]backend.Answer, error) {
	var answers []backend.Answer
	rejected, err := b.doEach(ctx, len(claims), func(t *txn) error {
		answers = make([]backend.Answer, len(claims))
		if err := t.c.alive(worker); err != nil {
			return err
		}
		return each(t, len(claims), func(i int) error {
			answer, err := t.claim(worker, &claims[i])
			if err == nil {
				answers[i] = answer
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	for i := range rejected {
		if claims[i].Again { // the row stays claimed
			answers[i] = backend.Waits
		}
	}
	return answers, firstOf(rejected, func(i int) backend.Ref { return claims[i].Ref })
}

func (t *txn) claim(worker int64, claim *backend.Claim) (backend.Answer, error) {
	busy := int64(0)
	if claim.Busy != backend.Ignore {
		var err error
		busy, err = t.c.query("SELECT count(*) FROM hwt_entries WHERE key = ? AND gen <> ? AND holder > 0 AND " + heldWell).
			blob(claim.Key).int(int64(claim.Generation)).integer()
		if err != nil {
			return backend.Overtaken, err
		}
	}
	if t.s.pauses > 0 && !claim.Again {
		if waits, err := isPaused(t.c, claim.Ref); waits || err != nil {
			return backend.Overtaken, err
		}
	}
	if claim.Next == nil && !claim.Skip && claim.Due == 0 && busy == 0 && !claim.Again {
		// The hot path: one statement instead of Decide.
		n, err := t.atRef(claimRow, claim.Ref, worker)
		t.s.pending -= n
		t.s.claimed += n
		return backend.Answer(n), err // Overtaken or Won
	}
	row, err := t.find(claim.Ref)
	if err != nil {
		return backend.Overtaken, err
	}
	change, answer := claim.Decide(row, busy > 0, worker, uint64(t.s.generation+1))
	return answer, t.write(one(row), &change)
}

// Claims and outcomes bind key, generation, worker, and slot. The mark in sum names the holder, even if holder is damaged.
const (
	claimRow  = "UPDATE hwt_entries SET holder = ?3, sum = " + marked + " WHERE key = ?1 AND slot = ?4 AND gen = ?2 AND holder = 0"
	finishRow = "DELETE FROM hwt_entries WHERE key = ?1 AND slot = ?4 AND gen = ?2 AND holder > 0 AND (sum >> 32) = ((?3 * 16777619) & 2147483647)"
)

// atRef executes one of these statements for the row that ref names: in the main slot, or else in
// its own.
func (t *txn) atRef(sql string, ref backend.Ref, worker int64) (n int64, err error) {
	for _, slot := range [...]int64{0, int64(ref.Generation)} {
		n, err = t.c.query(sql).blob(ref.Key).int(int64(ref.Generation)).int(worker).int(slot).exec()
		if n > 0 || err != nil {
			break
		}
	}
	return n, err
}

func one(row *backend.Row) []backend.Row {
	if row == nil {
		return nil
	}
	return []backend.Row{*row}
}

// Finish implements backend.Backend.
func (b *sqliteBackend) Finish(ctx context.Context, worker int64, outcomes []backend.Outcome) ([]bool, error) {
	applied, rejected, err := b.rejections.finish(ctx, worker, outcomes)
	if len(rejected) == 0 {
		return applied, err
	}
	err = firstOf(rejected, func(i int) backend.Ref { return outcomes[i].Ref })
	if !b.rejections.keep(worker, at(outcomes, rejected)) {
		return applied, err
	}
	b.trouble.Note(b.options.Logger, "durable: SQLite rejects outcomes of entries, which stay claimed; retrying", err.Error(), err, "entries", len(rejected))
	return applied, nil
}

// finish stores outcomes, and returns the errors of those that SQLite rejects, by their positions.
func (r *rejections) finish(ctx context.Context, worker int64, outcomes []backend.Outcome) (applied []bool, rejected map[int]error, err error) {
	rejected, err = r.queue.doEach(ctx, len(outcomes), func(t *txn) (err error) {
		applied, err = t.finishAll(worker, outcomes)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return applied, rejected, nil
}

// retry tries the outcomes again.
func (r *rejections) retry(ctx context.Context) {
	for worker, outcomes := range r.take() {
		tried := len(outcomes)
		_, rejected, err := r.finish(ctx, worker, outcomes)
		if err == nil && len(rejected) < len(outcomes) {
			r.announce(nil) // a retry may be due
		}
		if err == nil {
			outcomes = at(outcomes, rejected)
		}
		r.putBack(worker, outcomes, tried)
	}
}

func (t *txn) finishAll(worker int64, outcomes []backend.Outcome) (applied []bool, err error) {
	applied = make([]bool, len(outcomes))
	err = each(t, len(outcomes), func(i int) error {
		ok, err := t.finish(worker, &outcomes[i])
		applied[i] = ok && err == nil
		return err
	})
	for i := 0; i < len(outcomes) && err == nil; i++ {
		if o := &outcomes[i]; o.Last != "" && (applied[i] || o.InTx) && t.rejected[i] == nil { // see Notes
			_, err = t.c.query("UPDATE hwt_entries SET last = ? WHERE key = ? AND slot = 0 AND holder = 0 AND every = ?").
				blob(o.Last).blob(o.Key).blob(o.Every).exec()
			switch {
			case t.rejected == nil || !concernsRow(err):
			case t.c.GetAutocommit(): // rolled back by a trigger
				t.undoing[i] = err
			default:
				err = nil // the outcome counts without it
			}
		}
	}
	return applied, err
}

func (t *txn) finish(worker int64, outcome *backend.Outcome) (bool, error) {
	if outcome.Fate == backend.Done && t.s.large == 0 {
		n, err := t.atRef(finishRow, outcome.Ref, worker)
		if t.s.claimed -= n; n > 0 || err != nil {
			return true, err
		}
	}
	row, err := t.find(outcome.Ref)
	if err != nil {
		return false, err
	}
	change, applied := outcome.Decide(row, worker, time.Now().UnixNano(), uint64(t.s.generation+1))
	return applied, t.write(one(row), &change)
}
