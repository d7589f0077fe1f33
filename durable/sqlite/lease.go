package sqlite

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hashedwheel/hwt/durable/backend"
)

// kindOf is the kind of a row, if hasKind.
const (
	kindOf  = "substr(key, 1, instr(key, x'2f'))"
	hasKind = "instr(key, x'2f') > 0"
)

// isLarge reports whether the store has manyRows.
func isLarge(c *conn) (bool, error) {
	n, err := c.query("SELECT pending + claimed FROM hwt_store").integer()
	return n >= manyRows, err
}

// PrepareKinds implements backend.Backend. A store has the index only if lanes of kinds need it: each entry
// is in the index, in a page per kind.
func (b *sqliteBackend) PrepareKinds(ctx context.Context) error {
	const find, create = "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = 'hwt_kind' AND sql = CAST(? AS TEXT)",
		"CREATE INDEX hwt_kind ON hwt_entries (" + kindOf + ", due, key, slot, grp) WHERE " + hasKind
	var exists int64
	err := b.read(ctx, func(c *conn) (err error) {
		exists, err = c.query(find).blob(create).integer()
		return err
	})
	if err != nil || exists > 0 {
		return err
	}
	return b.do(ctx, 1, func(t *txn) error { // an older release creates the index without groups
		return t.c.Exec("DROP INDEX IF EXISTS hwt_kind; " + create)
	})
}

// Overdue implements backend.Backend.
func (p *readerPool) Overdue(ctx context.Context, before int64) (rows []backend.Row, err error) {
	err = p.read(ctx, func(c *conn) error {
		stopped, err := pauses(c)
		if err != nil {
			return err
		}
		rows = nil
		isFirst := backend.FirstOfKinds()
		return c.query("SELECT key, due, schedule, grp FROM hwt_entries INDEXED BY hwt_due WHERE holder = 0 AND due < ? ORDER BY due, key, slot LIMIT ?").
			int(before).int(backend.LookLimit).each(func(q *query) error {
			r := backend.Row{Key: string(q.s.ColumnRawBlob(0)), Due: q.s.ColumnInt64(1), Schedule: string(q.s.ColumnRawBlob(2)), Group: string(q.s.ColumnRawBlob(3))}
			if !slices.ContainsFunc(stopped, func(p backend.Pause) bool { return p.Has(&r) }) && isFirst(&r) {
				r.Group = ""
				rows = append(rows, r)
			}
			return nil
		})
	})
	return rows, err
}

// Lease implements backend.Backend. It marks nothing: every worker holds every row that is
// due soon, and the claim decides. That saves one write per firing.
func (p *readerPool) Lease(ctx context.Context, req backend.LeaseRequest) (lanes []backend.Leased, err error) {
	var damaged error
	err = p.read(ctx, func(c *conn) error {
		if err := c.alive(req.Worker); err != nil {
			return err
		}
		stopped, err := pauses(c)
		if err != nil {
			return err
		}
		for i := range req.Lanes {
			if covered(stopped, &req.Lanes[i]) {
				lanes = append(lanes, req.Lanes[i].Leased(nil, req.Lanes[i].After, false))
				continue
			}
			lane, damage, err := leaseLane(c, &req, &req.Lanes[i], len(stopped) > 0)
			if len(req.Lanes[i].Kinds) > 0 && err == nil && !lane.Apart {
				lane.Apart, err = isLarge(c)
			}
			lanes, damaged = append(lanes, lane), errors.Join(damaged, damage)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return lanes, unreadable(err)
	}
	return lanes, damaged
}

// leaseLane returns the rows of a lane, and the damage of others.
func leaseLane(c *conn, req *backend.LeaseRequest, lane *backend.Lane, somePaused bool) (_ backend.Leased, damaged, err error) {
	end, more := backend.Cursor{Due: req.Until}, false
	if lane.Selects() {
		if end, more, err = look(c, req, lane); err != nil || end == lane.After {
			return lane.Leased(nil, lane.After, false), nil, err
		}
	}
	without := repeated(lane.Without)
	kinds := repeated(lane.Kinds)
	q := c.query(leaseRows(lane, len(kinds), len(without), len(req.Schedules), somePaused)).inLane(lane, end, lane.Selects())
	for _, kind := range kinds {
		q.bytesOf(kind)
	}
	if lane.Group != nil {
		q.bytesOf(*lane.Group)
	}
	for _, group := range without {
		q.bytesOf(group)
	}
	for _, name := range req.Schedules {
		q.blob(name)
	}
	rows, damaged, err := q.intact(lane.Max)
	if err != nil {
		more, end = true, lane.After
	}
	return lane.Leased(rows, end, more), damaged, err
}

// look returns the position of the last of the rows that a lane may look at, or lane.After if there is none. It
// reports whether there are further rows. It reads only the index.
func look(c *conn, req *backend.LeaseRequest, lane *backend.Lane) (end backend.Cursor, more bool, err error) {
	end = lane.After
	last := func(order string, skip int) (found bool, err error) {
		err = c.query("SELECT due, key, slot"+fromLane(lane, false)+" ORDER BY "+order+" LIMIT 1 OFFSET ?").
			inLane(lane, backend.Cursor{Due: req.Until}, false).int(int64(skip)).each(func(q *query) error {
			end, found = backend.Cursor{Due: q.s.ColumnInt64(0), Key: string(q.s.ColumnRawBlob(1)), Slot: uint64(q.s.ColumnInt64(2))}, true
			return nil
		})
		return found, err
	}
	if more, err = last("due, key, slot", req.Looks(lane)-1); !more && err == nil {
		_, err = last("due DESC, key DESC, slot DESC", 0)
	}
	return end, more, err
}

// leaseRows returns the statement that reads the rows of a lane. The statement passes over rows of other groups, and of kinds that
// are not among Kinds, in the index.
func leaseRows(lane *backend.Lane, kinds, without, schedules int, somePaused bool) string {
	sql, order := "SELECT "+columns, "due, key, slot"
	if lane.Selects() {
		order = "d, k, s"
		sql += " FROM (SELECT due AS d, key AS k, slot AS s" + fromLane(lane, true)
		if kinds > 0 {
			sql += " AND " + kindOf + " IN (" + parameters(kinds) + ")"
		}
		if lane.Group != nil {
			sql += " AND ifnull(grp, x'') = ?"
		}
		if without > 0 {
			sql += " AND ifnull(grp, x'') NOT IN (" + parameters(without) + ")"
		}
		sql += ") CROSS JOIN hwt_entries AS t ON key = k AND slot = s WHERE"
	} else {
		sql += fromLane(lane, false) + " AND"
	}
	sql += " (holder = 0 OR NOT " + heldWell + ")"
	if somePaused {
		sql += " AND NOT " + paused
	}
	return sql + " AND (schedule IS NULL OR schedule IN (" + parameters(schedules) + ")) ORDER BY " + order
}

// fromLane returns the part of a statement that bounds a lane: to rows after its Cursor up to a due time, or if
// exactly is set, up to a position. inLane binds the parameters.
func fromLane(lane *backend.Lane, exactly bool) string {
	sql := " FROM hwt_entries AS t INDEXED BY hwt_due WHERE"
	if lane.Kind != "" {
		sql = " FROM hwt_entries AS t INDEXED BY hwt_kind WHERE " + hasKind + " AND " + kindOf + " = ? AND"
	}
	if exactly {
		return sql + " (due, key, slot) <= (?, ?, ?) AND (due, key, slot) > (?, ?, ?)"
	}
	return sql + " due <= ? AND (due, key, slot) > (?, ?, ?)"
}

// inLane binds the parameters of fromLane.
func (q *query) inLane(lane *backend.Lane, end backend.Cursor, exactly bool) *query {
	if lane.Kind != "" {
		q.blob(lane.Kind)
	}
	if q.int(end.Due); exactly {
		q.bytesOf(end.Key).int(int64(end.Slot))
	}
	return q.int(lane.After.Due).bytesOf(lane.After.Key).int(int64(lane.After.Slot))
}

func parameters(n int) string { return strings.TrimPrefix(strings.Repeat(",?", n), ",") }

// repeated returns texts, the last of them so often that their number is a power of two: a connection
// keeps each statement.
func repeated(texts []string) []string {
	all := slices.Clone(texts)
	for len(all)&(len(all)-1) != 0 {
		all = append(all, all[len(all)-1])
	}
	return all
}
