package sqlite

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Apply implements backend.Backend.
func (b *sqliteBackend) Apply(ctx context.Context, ops []backend.Op) ([]backend.Result, error) {
	var results []backend.Result
	rejected, err := b.doEach(ctx, len(ops), func(t *txn) (err error) {
		results, err = t.applyAll(ops)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, err := range rejected {
		results[i] = backend.Result{Err: err}
	}
	return results, nil
}

func (t *txn) applyAll(ops []backend.Op) (results []backend.Result, err error) {
	results = make([]backend.Result, len(ops))
	return results, each(t, len(ops), func(i int) (err error) {
		results[i], err = t.apply(&ops[i])
		return err
	})
}

// apply performs an operation.
func (t *txn) apply(op *backend.Op) (result backend.Result, err error) {
	if full, err := t.isFull(op); full || err != nil {
		return backend.Result{Err: backend.ErrFull}, err
	}
	if inserted, err := t.insert(op, &result); inserted || err != nil {
		return result, err
	}
	var rows []backend.Row
	var dead *backend.Dead
	if op.Kind != backend.Discard { // which depends on no row
		rows, err = rowsOf(t.c, op.Row.Key)
	}
	if err == nil && (op.Kind == backend.Requeue || op.Kind == backend.Discard) {
		dead, err = deadLetter(t.c, backend.Ref{Key: op.Row.Key, Generation: op.If})
	}
	if errors.Is(err, backend.ErrDamaged) {
		return t.damaged(op, err)
	}
	if err != nil {
		return result, err
	}
	change := op.Decide(rows, dead, uint64(t.s.generation+1))
	if change.DeleteDead {
		err = t.dropDead(dead.Ref())
	}
	if err != nil {
		return result, err
	}
	if op.Kind == backend.Move && change.Result.Err == nil {
		err = t.move(&change.Result.Row)
	} else {
		err = t.write(rows, &change)
	}
	return change.Result, err
}

// damaged performs an operation on a key with a damaged row or dead letter. Cancel and Discard
// delete these, without their large payloads: a damaged id may be the id of another row.
func (t *txn) damaged(op *backend.Op, damage error) (result backend.Result, err error) {
	result.Row.Key = op.Row.Key
	switch {
	case op.Kind == backend.Cancel && op.If == 0:
		result.Err, err = t.cancelDamaged(op.Row.Key)
	case op.Kind == backend.Discard:
		var n int64
		n, err = t.c.query("DELETE FROM hwt_dead WHERE key = ? AND gen = ?").blob(op.Row.Key).int(int64(op.If)).exec()
		if t.s.dead -= n; n == 0 {
			result.Err = backend.ErrNotFound
		}
	default:
		result.Err = damage // of this key only
	}
	return result, err
}

// cancelDamaged deletes the pending rows of a key, and the damaged ones that workers held which
// are gone. Others are firing.
func (t *txn) cancelDamaged(key string) (refusal, err error) {
	var intact, damaged []backend.Row
	firing := false
	err = t.c.query(selectRows).blob(key).each(func(q *query) error {
		r, damage := scan(q)
		if damage == nil && r.State == backend.Pending {
			intact = append(intact, r)
		} else if damage != nil && (r.State == backend.Pending || !mayFire(t.c, r.Holder, q.s.ColumnInt64(5)>>32)) {
			r.Generation = uint64(q.s.ColumnInt64(1)) // if it is detached, the slot
			damaged = append(damaged, r)
		} else if !r.Detached {
			firing = true
		}
		return nil
	})
	if err != nil || firing || len(intact)+len(damaged) == 0 {
		return backend.ErrFired, err
	}
	for _, r := range damaged {
		t.s.count(r.State, -1)
	}
	return nil, t.write(intact, &backend.Change{Delete: append(damaged, intact...)})
}

// mayFire reports whether a live worker has claimed a damaged row, by its holder or by its mark.
func mayFire(c *conn, holder, mark int64) bool {
	n, err := c.query("SELECT count(*) FROM hwt_workers WHERE (id = ? OR ((id * 16777619) & 2147483647) = ?) AND expires > ?").
		int(holder).int(mark).int(time.Now().UnixNano()).integer()
	return n > 0 || err != nil
}

// insert performs a Set or Create of an absent key by one statement, or reports that it
// did not.
func (t *txn) insert(op *backend.Op, result *backend.Result) (inserted bool, err error) {
	if op.Kind > backend.Create || op.If != 0 || len(op.Row.Payload) > largePayload {
		return false, nil
	}
	change := op.Decide(nil, nil, uint64(t.s.generation+1))
	n, err := insertRow.run(t.c, &change.Result.Row, 0)
	if n > 0 && err == nil {
		t.s.count(backend.Pending, 1)
		t.s.generation++
		*result = change.Result
	}
	return n > 0, err
}

// move stores the row that Move decided on. The columns that it keeps are not written: a large
// payload stays in its place.
func (t *txn) move(r *backend.Row) error {
	t.s.generation = int64(r.Generation)
	_, err := t.c.query(`UPDATE hwt_entries SET gen = ?2, due = ?3, sum = ?4, attempt = 1, origin = 0, nonce = ?5, crashes = NULL
		WHERE key = ?1 AND slot = 0`).
		blob(r.Key).int(int64(r.Generation)).int(r.Due).int(int64(r.Checksum())).int(int64(r.Nonce)).exec()
	return err
}

const selectRows = "SELECT " + columns + " FROM hwt_entries AS t WHERE key = ? ORDER BY slot"

// rowsOf returns the rows of a key in the order of their slots.
func rowsOf(c *conn, key string) ([]backend.Row, error) {
	return all(c.query(selectRows).blob(key), scan)
}

// find returns the row that ref names, or nil. A damaged row is neither claimed nor finished, and
// must not fail the rest of its batch: it is nil, too.
func (t *txn) find(ref backend.Ref) (row *backend.Row, err error) {
	err = t.c.query("SELECT " + columns + " FROM hwt_entries AS t WHERE key = ? AND slot IN (0, ?2) AND gen = ?2").
		blob(ref.Key).int(int64(ref.Generation)).each(func(q *query) error {
		r, err := scan(q)
		if err == nil {
			row = &r
		}
		return nil
	})
	return row, err
}

func deadLetter(c *conn, ref backend.Ref) (*backend.Dead, error) {
	letters, err := all(c.query("SELECT "+deadColumns+" FROM hwt_dead AS t WHERE key = ? AND gen = ?").
		blob(ref.Key).int(int64(ref.Generation)), scanDead)
	if len(letters) == 0 {
		return nil, err
	}
	return &letters[0], err
}

const (
	intoEntries     = "INSERT INTO hwt_entries (" + stored + ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
	intoEntriesRare = "INSERT INTO hwt_entries (" + stored + rare + ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
	sameSlot        = " ON CONFLICT (key, slot) DO "
)

// replaced ends an insertion that replaces the row in the slot.
var replaced = sameSlot + "UPDATE SET (" + stored + rare + ") = (excluded." + strings.ReplaceAll(stored+rare, ", ", ", excluded.") + ")"

// storing is a statement that stores a row, for rows without values in the columns rare, and for
// the others.
type storing struct{ plain, rare string }

// The statements replace or leave the row in the same slot only. INSERT OR REPLACE would also delete rows that a unique index of
// the user forbids beside the new one.
var (
	insertRow  = storing{intoEntries + sameSlot + "NOTHING", intoEntriesRare + sameSlot + "NOTHING"}
	replaceRow = storing{intoEntries + replaced, intoEntriesRare + replaced}
)

// run stores a row, and returns the number of changed rows. large is the id of a large payload.
func (s storing) run(c *conn, r *backend.Row, large int64) (int64, error) {
	if !hasRare(r) {
		return bind(c.query(s.plain), r, large).exec()
	}
	return bindRare(bind(c.query(s.rare), r, large), r).exec()
}

// write stores a change. rows are the rows that it may replace or delete.
func (t *txn) write(rows []backend.Row, change *backend.Change) error {
	for i := range change.Delete {
		r := &change.Delete[i]
		if err := t.remove(rows, r.Slot()); err != nil {
			return err
		}
		if _, err := t.c.query("DELETE FROM hwt_entries WHERE key = ? AND slot = ?").blob(r.Key).int(int64(r.Slot())).exec(); err != nil {
			return err
		}
	}
	for i := range change.Put {
		r := &change.Put[i]
		if err := t.remove(rows, r.Slot()); err != nil {
			return err
		}
		t.s.count(r.State, 1)
		t.s.generation = max(t.s.generation, int64(r.Generation))
		large, err := t.putPayload(r.Payload)
		if err != nil {
			return err
		}
		if _, err := replaceRow.run(t.c, r, large); err != nil {
			return err
		}
	}
	if change.Bury != nil {
		return t.bury(change.Bury)
	}
	return nil
}

// count counts a row that is added, or, with -1, removed.
func (s *state) count(kind backend.State, n int64) {
	if kind == backend.Claimed {
		s.claimed += n
	} else {
		s.pending += n
	}
}

// remove counts the row in a slot as removed, if there is one, and deletes its payload.
func (t *txn) remove(rows []backend.Row, slot uint64) error {
	for i := range rows {
		if r := &rows[i]; r.Slot() == slot {
			t.s.count(r.State, -1)
			return t.dropPayload("hwt_entries WHERE key = ? AND slot = ?", r.Key, int64(slot))
		}
	}
	return nil
}

// putPayload stores a large payload and returns its id, or 0 for a small one.
func (t *txn) putPayload(payload []byte) (int64, error) {
	if len(payload) <= largePayload {
		return 0, nil
	}
	t.s.large++
	_, err := t.c.query("INSERT INTO hwt_payloads (payload) VALUES (?)").bytes(payload).exec()
	return t.c.LastInsertRowID(), err
}

// dropPayload deletes the payload of a row or a dead letter if it is a large one. where names it
// by key, and slot or generation.
func (t *txn) dropPayload(where, key string, n int64) error {
	if t.s.large == 0 {
		return nil
	}
	dropped, err := t.c.query("DELETE FROM hwt_payloads WHERE id = (SELECT payload FROM " + where + " AND typeof(payload) = 'integer')").
		blob(key).int(n).exec()
	t.s.large -= dropped
	return err
}

func (t *txn) dropDead(ref backend.Ref) error {
	if err := t.dropPayload("hwt_dead WHERE key = ? AND gen = ?", ref.Key, int64(ref.Generation)); err != nil {
		return err
	}
	t.s.dead--
	_, err := t.c.query("DELETE FROM hwt_dead WHERE key = ? AND gen = ?").blob(ref.Key).int(int64(ref.Generation)).exec()
	return err
}

func (t *txn) bury(d *backend.Dead) error {
	large, err := t.putPayload(d.Payload)
	if err != nil {
		return err
	}
	q := t.c.query(`INSERT INTO hwt_dead (key, gen, due, sum, not_after, attempt, every, schedule,
		origin, nonce, payload` + rare + `, detached, error, given_up) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`)
	q.blob(d.Key).int(int64(d.Generation)).int(d.Due)
	bindRare(bindRest(q, &d.Row, 0, large), &d.Row)
	detached := int64(0)
	if d.Detached {
		detached = 1
	}
	_, err = q.int(detached).blob(d.Error).int(d.GivenUp).exec()
	t.s.dead++
	return err
}

// overhead is the least space of an entry in addition to its key, payload, group, and headers.
const overhead = 32

// isFull reports whether op adds an entry for which 80 % of MaxBytes have no room. It counts what
// the transaction adds, though not what it replaces.
func (t *txn) isFull(op *backend.Op) (bool, error) {
	if op.Kind > backend.Create || t.w.files.options.MaxBytes == 0 {
		return false, nil
	}
	if t.room == nil {
		used, err := t.c.used()
		if err != nil {
			return false, err
		}
		room := t.w.files.options.MaxBytes/5*4 - used
		t.room = &room
	}
	size := int64(overhead + len(op.Row.Key) + len(op.Row.Payload) + len(op.Row.Group) + len(op.Row.Headers))
	if size > *t.room {
		return true, nil
	}
	*t.room -= size
	return false, nil
}
