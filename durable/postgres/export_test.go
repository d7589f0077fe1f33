package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hashedwheel/hwt/durable/backend"
)

type Backend = postgresBackend

var NewBackend = newBackend

var StatementCount = len(statements)

// View returns the operations of the backend inside a transaction.
func (b *postgresBackend) View(tx pgx.Tx) backend.Tx { return view{b, pgxQuerier{tx, b.text}} }

// SQLView is View for package database/sql.
func (b *postgresBackend) SQLView(tx *sql.Tx) backend.Tx { return view{b, sqlQuerier{tx, b.text}} }

// RejectMany leaves no room for rejected outcomes.
func (b *postgresBackend) RejectMany() {
	f := &finishing{}
	for i := range maxRejected {
		f.rejected = append(f.rejected, rejection{backend.Outcome{Ref: backend.Ref{Key: "absent", Generation: uint64(i)}}, errors.New("no")})
	}
	b.leases.returner.keep(f)
}

// LoseAck makes the backend believe that a crash of the server has lost an acknowledgement.
func (b *postgresBackend) LoseAck(worker int64, ref backend.Ref) {
	var r refs
	r.add(ref)
	b.acks.note(worker, r)
	b.acks.arrive("another era", 0)
}

// Queued returns the number of operations that wait for a batch.
func (b *postgresBackend) Queued() int {
	b.lanes.mu.Lock()
	defer b.lanes.mu.Unlock()
	return len(b.lanes.queue)
}

// Schema returns the schema of the tables.
func (b *postgresBackend) Schema() string { return b.options.Schema }

// LeaseRows leases up to most rows that are due until a time, in one lane.
func (b *postgresBackend) LeaseRows(ctx context.Context, worker int64, until time.Time, most int) ([]backend.Row, error) {
	lanes, err := b.Lease(ctx, backend.LeaseRequest{Worker: worker, Until: until.UnixNano(), Lanes: []backend.Lane{{Max: most}}})
	if len(lanes) == 0 {
		return nil, err
	}
	return lanes[0].Rows, err
}

// LeasePlan runs Lease's statement for a lane as the backend does, and returns its plan.
func (b *postgresBackend) LeasePlan(ctx context.Context, lane backend.Lane) (string, error) {
	sql := leaseSQL
	if lane.Kind != "" {
		sql = leaseKindsSQL
	}
	l := leasing{leases: b.leases, req: &backend.LeaseRequest{Until: time.Now().Add(lead).UnixNano(), Lanes: []backend.Lane{lane}}}
	l.ends = []end{{after: l.after(0), upto: l.req.Until}}
	return b.plan(ctx, "EXPLAIN (ANALYZE, BUFFERS) "+sql, append([]any{int64(1), int64(leaseBatch), int64(0), b.budget.bytes()}, l.args([]int{0})...)...)
}

// NamedPlans runs the statements that claim and acknowledge rows, and returns their plans.
func (b *postgresBackend) NamedPlans(ctx context.Context, keys [][]byte, generations []int64, worker int64) (plans []string, err error) {
	for _, sql := range []string{claimSQL, claimAgainSQL, ownSQL, existingSQL, doneSQL} {
		plan, failed := b.plan(ctx, "EXPLAIN (ANALYZE, BUFFERS) "+sql, keys, generations, worker)
		plans, err = append(plans, plan), cmp.Or(err, failed)
	}
	return plans, err
}

// SharePlans runs the statements of Share that look permits up, and returns their plans.
func (b *postgresBackend) SharePlans(ctx context.Context, worker int64, prefix string) (plans string, err error) {
	scope := []any{[][]byte{[]byte(prefix)}, [][]byte{{}}}
	for sql, args := range map[string][]any{endPermitsSQL: scope, permitsSQL: append(scope[:2:2], worker)} {
		plan, failed := b.plan(ctx, "EXPLAIN (ANALYZE, BUFFERS) "+sql, args...)
		plans, err = plans+plan, cmp.Or(err, failed)
	}
	return plans, err
}

// PagePlan runs Page's statement for ten keys with a prefix, and returns its plan.
func (b *postgresBackend) PagePlan(ctx context.Context, prefix string) (string, error) {
	return b.plan(ctx, "EXPLAIN (ANALYZE, BUFFERS) "+pageSQL, b.span(prefix, "", 0, 10, false)...)
}

func (b *postgresBackend) plan(ctx context.Context, sql string, args ...any) (string, error) {
	var lines []string
	err := b.inTx(ctx, b.settings(batchWait, false), func(t *txn) error {
		return t.run(ctx, query(each(&lines), sql, args...))
	})
	return strings.Join(lines, "\n"), err
}

// Setting returns a setting of the backend's transactions.
func (b *postgresBackend) Setting(ctx context.Context, name string) (value string, err error) {
	err = b.inTx(ctx, b.settings(batchWait, false), func(t *txn) error {
		return t.run(ctx, query(into(&value), "SELECT current_setting($1)", name))
	})
	return value, err
}

// OlderVersions is the number of versions of the tables before the newest.
const OlderVersions = schemaVersion - 1

// TablesOfVersion returns the statements that create the tables of a version.
func TablesOfVersion(version int, schema string) string {
	return filled(schema, false)("CREATE SCHEMA {s};" + strings.Join(migrations[:version], ""))
}
