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

// PrepareKinds implements backend.Backend. A store has the index only if its workers lease
// kinds.
func (b *sqliteBackend) PrepareKinds(ctx context.Context) error {
	const find = "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = 'hwt_kind'"
	var exists int64
	err := b.read(ctx, func(c *conn) (err error) {
		exists, err = c.query(find).integer()
		return err
	})
	if err != nil || exists > 0 {
		return err
	}
	return b.do(ctx, 1, func(t *txn) error {
		return t.c.Exec("CREATE INDEX IF NOT EXISTS hwt_kind ON hwt_entries (" + kindOf + ", due, key, slot) WHERE " + hasKind)
	})
}

// Lease implements backend.Backend. It marks nothing: every worker holds every row that is
// due soon, and the claim decides. That saves one write per firing.
func (p *readerPool) Lease(ctx context.Context, req backend.LeaseRequest) (lanes [][]backend.Row, err error) {
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
				lanes = append(lanes, nil)
				continue
			}
			rows, damage, err := leaseLane(c, &req, &req.Lanes[i], len(stopped) > 0)
			lanes, damaged = append(lanes, rows), errors.Join(damaged, damage)
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
func leaseLane(c *conn, req *backend.LeaseRequest, lane *backend.Lane, somePaused bool) (rows []backend.Row, damaged, err error) {
	without := repeated(lane.Without)
	q := c.query(leaseRows(lane.Kind != "", lane.Group != "", len(without), len(req.Schedules), somePaused))
	if lane.Kind != "" {
		q.blob(lane.Kind)
	}
	q.int(req.Until).int(lane.After.Due).bytesOf(lane.After.Key).int(int64(lane.After.Slot))
	if lane.Group != "" {
		q.blob(lane.Group)
	}
	for _, group := range without {
		q.blob(group)
	}
	for _, name := range req.Schedules {
		q.blob(name)
	}
	return q.intact(lane.Max)
}

// leaseRows returns the statement that reads the rows of a lane.
func leaseRows(ofKind, ofGroup bool, without, schedules int, somePaused bool) string {
	sql := "SELECT " + columns + " FROM hwt_entries AS t INDEXED BY hwt_due WHERE"
	if ofKind {
		sql = "SELECT " + columns + " FROM hwt_entries AS t INDEXED BY hwt_kind WHERE " + hasKind + " AND " + kindOf + " = ? AND"
	}
	sql += " (holder = 0 OR NOT " + heldWell + ") AND due <= ? AND (due, key, slot) > (?, ?, ?)"
	if ofGroup {
		sql += " AND grp = ?"
	}
	if without > 0 {
		sql += " AND (grp IS NULL OR grp NOT IN (" + parameters(without) + "))"
	}
	if somePaused {
		sql += " AND NOT " + paused
	}
	return sql + " AND (schedule IS NULL OR schedule IN (" + parameters(schedules) + ")) ORDER BY due, key, slot"
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
