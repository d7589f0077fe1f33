package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hashedwheel/hwt/durable/backend"
)

// The index of kinds exists in a store only if its workers lease kinds. The index has the
// rows of entry_due with a kind. leaseKindsSQL says why the index compares holder with 1.
const (
	kindIndexSQL = `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = 'entry_kind')`
	createKindIndexSQL = `CREATE INDEX IF NOT EXISTS entry_kind ON {s}.entry ({kind}, due) WHERE holder < 1 AND {has kind}`
)

// PrepareKinds implements [backend.Backend]. PrepareKinds creates the index of kinds. Writes wait
// during the build.
func (l *leases) PrepareKinds(ctx context.Context) error {
	err := l.insist(ctx, func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, l.pool, l.unhurried(), func(tx pgx.Tx) error {
			q := pgxQuerier{tx, l.text}
			var exists bool
			if err := q.run(ctx, query(into(&exists), kindIndexSQL, l.options.Schema)); err != nil || exists {
				return err
			}
			return q.run(ctx, query(nil, `SELECT set_config('lock_timeout', '1s', true)`),
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

// Lease implements [backend.Backend]. Lease marks rows with the worker, so that no other
// worker gets them, and claims overdue one-shots.
func (l *leases) Lease(ctx context.Context, req backend.LeaseRequest) ([]backend.Leased, error) {
	some := leasing{leases: l, req: &req, rows: make([][]backend.Row, len(req.Lanes)), ends: make([]end, len(req.Lanes))}
	var kinds, others []int
	for i := range req.Lanes {
		some.ends[i] = end{upto: req.Until, after: some.after(i)}
		if req.Lanes[i].Kind == "" {
			others = append(others, i)
		} else {
			kinds = append(kinds, i)
		}
	}
	budget := l.budget.bytes()
	err := some.lanes(ctx, lookSQL, leaseSQL, others)
	if err == nil || errors.Is(err, backend.ErrDamaged) {
		err = errors.Join(err, some.lanes(ctx, lookKindsSQL, leaseKindsSQL, kinds))
	}
	if some.bytes >= l.budget.bytes() {
		l.announcer.look() // for the rest
	}
	complete := some.bytes < budget && (err == nil || errors.Is(err, backend.ErrDamaged))
	lanes := make([]backend.Leased, len(req.Lanes))
	for i, rows := range some.rows {
		slices.SortFunc(rows, func(x, y backend.Row) int { return x.Cursor().Compare(y.Cursor()) })
		lane, e := &req.Lanes[i], some.ends[i]
		if reached := e.reached(); complete && reached > lane.After.Due {
			lanes[i] = lane.Leased(rows, backend.Cursor{Due: reached}, e.more)
		} else {
			lanes[i] = lane.Leased(rows, lane.After, e.more || !complete)
		}
	}
	return lanes, err
}

// leasing is one call of Lease.
type leasing struct {
	*leases
	req   *backend.LeaseRequest
	rows  [][]backend.Row // by lane
	ends  []end           // by lane
	bytes int64           // of their payloads
}

// end says how far a call looks at the rows of a lane: from the due time after up to the due time
// upto. If the lane leaves no group out, only the number of rows limits it.
type end struct {
	after, upto int64
	found       bool // the call finds a row; set only for a lane that leaves groups out
	more        bool // rows that are due after upto
}

// reached returns the due time from which on the next look reads, or 0. The call has looked at all rows
// that were due before it.
func (e *end) reached() int64 {
	if !e.found {
		return 0
	}
	return e.upto + 1
}

// after returns the due time from which on a lane reads. If no notification announces the rows that are stored behind
// the mark, a lane of all groups reads them at each look.
func (l *leasing) after(i int) int64 {
	if lane := &l.req.Lanes[i]; lane.Selects() || !l.options.QuietTx && l.announcer.listening.Load() {
		return lane.After.Due
	}
	return 0
}

// look finds the ends of the lanes at positions that leave groups out.
func (l *leasing) look(ctx context.Context, sql string, at []int) error {
	var selecting []int
	kind, after := [][]byte{}, []int64{}
	for _, i := range at {
		if lane := &l.req.Lanes[i]; lane.Selects() {
			selecting, kind, after = append(selecting, i), append(kind, []byte(lane.Kind)), append(after, l.ends[i].after)
		}
	}
	if len(selecting) == 0 {
		return nil
	}
	limit := int64(max(1, backend.LookLimit/len(l.req.Lanes)))
	return l.insist(ctx, func(ctx context.Context) error {
		return l.simple(ctx, query(func(scan scanner) error {
			var n, count, due int64
			err := scan(&n, &count, &due)
			if err == nil {
				e := &l.ends[selecting[n-1]]
				e.found, e.more = true, count == limit && due < l.req.Until
				e.upto = due
			}
			return err
		}, sql, kind, after, l.req.Until, limit))
	})
}

// lanes leases the rows of the lanes at positions by one statement. If the database rejects
// single rows, or is slow, it leases the rows of each lane alone.
func (l *leasing) lanes(ctx context.Context, look, sql string, at []int) error {
	if len(at) == 0 {
		return nil
	}
	if err := l.look(ctx, look, at); err != nil {
		return err
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
	var after, upto, most, first, last []int64
	for _, i := range at {
		lane := &l.req.Lanes[i]
		kind = append(kind, []byte(lane.Kind))
		group = append(group, nil)
		if lane.Group != nil {
			group[len(group)-1] = append([]byte{}, *lane.Group...)
		}
		after, upto = append(after, l.ends[i].after), append(upto, l.ends[i].upto)
		most, first = append(most, int64(lane.Max)), append(first, int64(len(without)+1))
		for _, g := range lane.Without {
			without = append(without, []byte(g))
		}
		last = append(last, int64(len(without)))
	}
	return []any{upto, manyOctets(l.req.Schedules), kind, group, after, most, first, last, without, l.req.Unclaimed}
}
