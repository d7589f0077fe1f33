package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hashedwheel/hwt/durable/backend"
)

// The index of kinds exists in a store only if its workers lease kinds. It has the rows of
// entry_due that have a kind. leaseKindsSQL says why it compares holder with 1.
const (
	kindIndexSQL = `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = 'entry_kind')`
	createKindIndexSQL = `CREATE INDEX IF NOT EXISTS entry_kind ON {s}.entry ({kind}, due) WHERE holder < 1 AND {has kind}`
)

// PrepareKinds implements [backend.Backend]. It creates the index of kinds. Writes wait while PostgreSQL
// builds it.
func (l *leases) PrepareKinds(ctx context.Context) error {
	err := l.insist(ctx, func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, l.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			q := pgxQuerier{tx, l.text}
			var exists bool
			if err := q.run(ctx, query(into(&exists), kindIndexSQL, l.options.Schema)); err != nil || exists {
				return err
			}
			return q.run(ctx, query(nil, `SELECT set_config('lock_timeout', '1s', true), set_config('statement_timeout', '0', true)`),
				query(nil, `SELECT pg_advisory_xact_lock(hashtextextended('hwt:' || $1, 0))`, l.options.Schema),
				execute(createKindIndexSQL))
		})
	})
	if sqlState(err) == "42501" {
		return fmt.Errorf("postgres: the index of kinds is missing, and the role does not own the table entry: execute %s as its owner: %w",
			l.text(createKindIndexSQL), err)
	}
	return err
}

// Lease implements [backend.Backend]. It marks rows with the worker, so that no other
// one gets them, and claims overdue one-shots.
func (l *leases) Lease(ctx context.Context, req backend.LeaseRequest) ([][]backend.Row, error) {
	some := leasing{leases: l, req: &req, rows: make([][]backend.Row, len(req.Lanes)), schedules: [][]byte{}}
	for _, s := range req.Schedules {
		some.schedules = append(some.schedules, []byte(s))
	}
	var kinds, others []int
	for i := range req.Lanes {
		if req.Lanes[i].Kind == "" {
			others = append(others, i)
		} else {
			kinds = append(kinds, i)
		}
	}
	err := some.lanes(ctx, leaseSQL, others)
	if err == nil || errors.Is(err, backend.ErrDamaged) {
		err = errors.Join(err, some.lanes(ctx, leaseKindsSQL, kinds))
	}
	if some.bytes >= l.budget.bytes() {
		l.announcer.look() // for the rest
	}
	for _, rows := range some.rows {
		slices.SortFunc(rows, func(x, y backend.Row) int {
			return cmp.Or(cmp.Compare(x.Due, y.Due), cmp.Compare(x.Key, y.Key), cmp.Compare(x.Slot(), y.Slot()))
		})
	}
	return some.rows, err
}

// leasing is one call of Lease.
type leasing struct {
	*leases
	req       *backend.LeaseRequest
	schedules [][]byte
	rows      [][]backend.Row // by lane
	bytes     int64           // of their payloads
}

// lanes leases the rows of the lanes at positions by one statement. If the database rejects
// single rows, or is slow, it leases the rows of each lane alone.
func (l *leasing) lanes(ctx context.Context, sql string, at []int) error {
	if len(at) == 0 {
		return nil
	}
	most := 0
	for _, i := range at {
		most = max(most, l.req.Lanes[i].Max)
	}
	if len(at) > 1 {
		rows, err := l.takeOnce(ctx, l.req.Worker, most, 0, sql, l.args(at)...)
		l.add(at, rows)
		if !concernsRow(err) && !errors.Is(err, errSlow) {
			return err
		}
	}
	var damaged error
	for i := range at {
		rows, err := l.take(ctx, l.req.Worker, l.req.Lanes[at[i]].Max, sql, l.args(at[i:i+1])...)
		if l.add(at[i:i+1], rows); err != nil && !errors.Is(err, backend.ErrDamaged) {
			return err
		}
		damaged = errors.Join(damaged, err)
	}
	return damaged
}

// add sorts rows into the lanes at positions.
func (l *leasing) add(at []int, rows []backend.Row) {
	l.bytes += backend.Payloads(rows)
	for _, r := range rows {
		for _, i := range at {
			if l.req.Lanes[i].Has(&r) {
				l.rows[i] = append(l.rows[i], r)
				break
			}
		}
	}
}

// args returns the arguments for lanes at positions. A lane leaves out the groups from the position first
// up to the position last in the array without.
func (l *leasing) args(at []int) []any {
	kind, group, without := [][]byte{}, [][]byte{}, [][]byte{}
	var after, most, first, last []int64
	for _, i := range at {
		lane := &l.req.Lanes[i]
		kind, group = append(kind, []byte(lane.Kind)), append(group, []byte(lane.Group))
		due := lane.After.Due
		if l.options.QuietTx || !l.announcer.listening.Load() {
			due = 0 // no notification announces rows that are stored behind the mark
		}
		after, most, first = append(after, due), append(most, int64(lane.Max)), append(first, int64(len(without)+1))
		for _, g := range lane.Without {
			without = append(without, []byte(g))
		}
		last = append(last, int64(len(without)))
	}
	return []any{l.req.Until, l.schedules, kind, group, after, most, first, last, without, l.req.Unclaimed}
}
