package sqlite

import (
	"context"
	"slices"

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
	var n int64
	err := w.queue.do(ctx, 1, func(t *txn) (err error) {
		n, err = t.c.query("DELETE FROM hwt_pauses WHERE prefix = ? AND grp = ?").bytesOf(scope.Prefix).bytesOf(scope.Group).exec()
		t.s.pauses -= n
		return err
	})
	switch {
	case err != nil:
		return err
	case n == 0:
		return backend.ErrNotFound
	}
	w.announce(nil)
	return nil
}
