package sqlite

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// paused is whether a row of t is paused. hwt_store has the number of pauses: without a pause, nothing
// reads hwt_pauses in a transaction.
const paused = "EXISTS (SELECT 1 FROM hwt_pauses p WHERE substr(t.key, 1, length(p.prefix)) = p.prefix AND (p.grp = x'' OR p.grp = t.grp))"

// isPaused reports whether a row is paused.
func isPaused(c *conn, ref backend.Ref) (bool, error) {
	n, err := c.query("SELECT count(*) FROM hwt_entries AS t WHERE key = ? AND slot IN (0, ?2) AND gen = ?2 AND " + paused).
		blob(ref.Key).int(int64(ref.Generation)).integer()
	return n > 0, err
}

// pauses returns the pauses.
func pauses(c *conn) ([]backend.Pause, error) {
	return all(c.query("SELECT prefix, grp, reason, actor, since FROM hwt_pauses ORDER BY prefix, grp"), func(q *query) (backend.Pause, error) {
		text := func(column int) string { return string(q.s.ColumnRawBlob(column)) }
		return backend.Pause{Scope: backend.Scope{Prefix: text(0), Group: text(1)}, Reason: text(2), By: text(3), Since: q.s.ColumnInt64(4)}, nil
	})
}

// covered reports whether all rows of a lane are paused.
func covered(all []backend.Pause, lane *backend.Lane) bool {
	return slices.ContainsFunc(all, func(p backend.Pause) bool { return p.Covers(lane) })
}

// Paused implements backend.Backend.
func (p *readerPool) Paused(ctx context.Context) (all []backend.Pause, err error) {
	err = p.read(ctx, func(c *conn) error {
		all, err = pauses(c)
		return err
	})
	return all, err
}

// Pause implements backend.Backend. Claims are made after its transaction, or before.
func (w *writer) Pause(ctx context.Context, p backend.Pause) error {
	return w.queue.do(ctx, 1, func(t *txn) error {
		n, err := t.c.query("UPDATE hwt_pauses SET reason = ?3, actor = ?4, since = ?5 WHERE prefix = ?1 AND grp = ?2").
			bytesOf(p.Prefix).bytesOf(p.Group).bytesOf(p.Reason).bytesOf(p.By).int(p.Since).exec()
		if n == 0 && err == nil {
			t.s.pauses++
			_, err = t.c.query("INSERT INTO hwt_pauses (prefix, grp, reason, actor, since) VALUES (?, ?, ?, ?, ?)").
				bytesOf(p.Prefix).bytesOf(p.Group).bytesOf(p.Reason).bytesOf(p.By).int(p.Since).exec()
		}
		return err
	})
}

// Resume implements backend.Backend.
func (w *writer) Resume(ctx context.Context, scope backend.Scope) error {
	return w.remove(ctx, scope, "hwt_pauses", func(t *txn) error {
		t.s.pauses--
		return nil
	})
}

// remove deletes the row of a scope from a table, and calls then to delete the rest. It returns ErrNotFound without such a row.
func (w *writer) remove(ctx context.Context, scope backend.Scope, table string, then func(*txn) error) error {
	var n int64
	err := w.queue.do(ctx, 1, func(t *txn) (err error) {
		n, err = t.c.query("DELETE FROM " + table + " WHERE prefix = ? AND grp = ?").bytesOf(scope.Prefix).bytesOf(scope.Group).exec()
		if err == nil && n > 0 {
			err = then(t)
		}
		return err
	})
	if err == nil && n == 0 {
		return backend.ErrNotFound
	}
	if err == nil {
		w.announce(nil)
	}
	return err
}

// SetLimit implements backend.Backend. The statement changes busy as backend.Limit.Lowered.
func (w *writer) SetLimit(ctx context.Context, limit backend.Limit) error {
	err := w.queue.do(ctx, 1, func(t *txn) error {
		t.s.generation++
		_, err := t.c.query(`INSERT INTO hwt_limits (prefix, grp, running, per_second, burst, version) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (prefix, grp) DO UPDATE SET running = ?3, per_second = ?4, burst = ?5, version = ?6,
				busy = CASE WHEN ?4 > 0 AND ?4 < per_second AND busy > ?7
					THEN ?7 + CAST(min((busy - ?7) * (per_second / ?4), 4e18) AS INTEGER) ELSE busy END`).
			bytesOf(limit.Prefix).bytesOf(limit.Group).int(int64(limit.Running)).real(limit.PerSecond).int(int64(limit.Burst)).int(t.s.generation).
			int(time.Now().UnixNano()).exec()
		return err
	})
	if err == nil {
		w.announce(nil)
	}
	return err
}

// RemoveLimit implements backend.Backend.
func (w *writer) RemoveLimit(ctx context.Context, scope backend.Scope) error {
	return w.remove(ctx, scope, "hwt_limits", func(t *txn) error {
		_, err := t.c.query("DELETE FROM hwt_permits WHERE prefix = ? AND grp = ?").bytesOf(scope.Prefix).bytesOf(scope.Group).exec()
		return err
	})
}

// Limited implements backend.Backend.
func (p *readerPool) Limited(ctx context.Context, known backend.Version) (all backend.Limited, err error) {
	var damaged error
	err = p.read(ctx, func(c *conn) error {
		all, damaged = backend.Limited{}, nil
		err := c.query("SELECT coalesce(max(version), 0), count(*) FROM hwt_limits").each(func(q *query) error {
			all.Version = backend.Version{Newest: q.s.ColumnInt64(0), Count: q.s.ColumnInt64(1)}
			return nil
		})
		if err != nil || all.Version == known {
			return err
		}
		now := time.Now().UnixNano()
		err = c.query("SELECT expires FROM hwt_workers WHERE limits < ?").int(all.Version.Newest).each(func(q *query) error {
			if !p.locks.ended(q.s.ColumnInt64(0), now) {
				all.Unaware++
			}
			return nil
		})
		if err != nil {
			return err
		}
		return c.query(`SELECT prefix, grp, running, per_second, burst, coalesce(held, 0), coalesce(wants, 0), coalesce(expires, 0)
			FROM hwt_limits LEFT JOIN hwt_permits USING (prefix, grp) LEFT JOIN hwt_workers ON id = worker ORDER BY prefix, grp`).each(func(q *query) error {
			limit, damage := scanLimit(q)
			n := len(all.Limits)
			if n == 0 || all.Limits[n-1].Scope != limit.Scope {
				damaged = errors.Join(damaged, damage)
				all.Limits = append(all.Limits, backend.LimitUse{Limit: limit})
				n++
			}
			if use := &all.Limits[n-1]; !p.locks.ended(q.s.ColumnInt64(7), now) {
				use.Held, use.Wants = use.Held+int(q.s.ColumnInt64(5)), use.Wants+int(q.s.ColumnInt64(6))
			}
			return nil
		})
	})
	if err != nil {
		return all, unreadable(err)
	}
	return all, damaged
}

// scanLimit returns the limit of a row. A damaged one lets no handler begin.
func scanLimit(q *query) (backend.Limit, error) {
	return backend.StoredLimit(backend.Limit{
		Scope:   backend.Scope{Prefix: string(q.s.ColumnRawBlob(0)), Group: string(q.s.ColumnRawBlob(1))},
		Running: int(q.s.ColumnInt64(2)), PerSecond: q.s.ColumnFloat(3), Burst: int(q.s.ColumnInt64(4)),
	})
}

// Share implements backend.Backend.
func (w *writer) Share(ctx context.Context, worker, newest int64, demands []backend.Demand) ([]backend.Grant, error) {
	var grants []backend.Grant
	return resultsOf(&grants, w.queue.do(ctx, 1+len(demands), func(t *txn) error {
		grants = make([]backend.Grant, len(demands))
		err := t.c.alive(worker)
		if err == nil {
			_, err = t.c.query("UPDATE hwt_workers SET limits = ?2 WHERE id = ?1 AND limits <> ?2").int(worker).int(newest).exec()
		}
		for i := 0; i < len(demands) && err == nil; i++ {
			grants[i], err = share(t, worker, &demands[i])
		}
		return err
	}))
}

// share decides about a demand.
func share(t *txn, worker int64, d *backend.Demand) (grant backend.Grant, err error) {
	grant.Scope = d.Scope
	var limit *backend.Limit
	var busy, version int64
	err = t.c.query("SELECT prefix, grp, running, per_second, burst, busy, version FROM hwt_limits WHERE prefix = ? AND grp = ?").
		bytesOf(d.Prefix).bytesOf(d.Group).each(func(q *query) error {
		l, _ := scanLimit(q) // Limited reports the damage
		limit, busy, version = &l, q.s.ColumnInt64(5), q.s.ColumnInt64(6)
		return nil
	})
	if err != nil || limit == nil {
		return grant, err
	}
	now := time.Now().UnixNano()
	others, err := otherPermits(t, worker, d, version, now)
	if err != nil {
		return grant, err
	}
	mine, next, grant := d.Decide(limit, worker, others, busy, now)
	if _, err = t.c.query("INSERT OR REPLACE INTO hwt_permits (prefix, grp, worker, held, wants) VALUES (?, ?, ?, ?, ?)").
		bytesOf(d.Prefix).bytesOf(d.Group).int(worker).int(int64(mine.Held)).int(int64(mine.Wants)).exec(); err == nil && next != busy {
		_, err = t.c.query("UPDATE hwt_limits SET busy = ?3 WHERE prefix = ?1 AND grp = ?2").bytesOf(d.Prefix).bytesOf(d.Group).int(next).exec()
	}
	return grant, err
}

// permitsOf reads the permits of a scope, by worker. NULL as the limits of a worker of an older release is no version.
const permitsOf = `SELECT w.id, w.expires, p.held, p.wants, coalesce(w.limits < ?3, 0) FROM hwt_workers w
	LEFT JOIN hwt_permits p ON p.prefix = ?1 AND p.grp = ?2 AND p.worker = w.id WHERE w.id <> ?4`

// otherPermits returns the permits of the live workers other than worker in a limit of a version. The permits of
// workers that have lost their leases stay until Adopt deletes these workers, and do not count.
func otherPermits(t *txn, worker int64, d *backend.Demand, version, now int64) (others []backend.Permit, err error) {
	err = t.c.query(permitsOf).bytesOf(d.Prefix).bytesOf(d.Group).int(version).int(worker).each(func(q *query) error {
		if expires := q.s.ColumnInt64(1); !t.w.held.ended(expires, now) {
			p := backend.Permit{Worker: q.s.ColumnInt64(0), Held: int(q.s.ColumnInt64(2)), Wants: int(q.s.ColumnInt64(3))}
			others = append(others, p.Of(q.s.ColumnBool(4)))
		}
		return nil
	})
	return others, err
}
