package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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

// StatementsOnTables returns the texts of the statements that name a table or a sequence.
func (b *postgresBackend) StatementsOnTables() (texts []string) {
	for _, sql := range statements {
		if strings.Contains(filled("hwt", false)(sql), `"hwt".`) {
			texts = append(texts, b.text(sql))
		}
	}
	return texts
}

// HeldText returns the text of the last statement by which the backend gives leases back.
func (b *postgresBackend) HeldText() string { return b.text(heldSQL) }

// Fill stores rows and dead letters as they are.
func (b *postgresBackend) Fill(ctx context.Context, rows []backend.Row, letters []*backend.Dead) (err error) {
	for some := range slices.Chunk(rows, 10_000) {
		var c columns
		for i := range some {
			c.add(&some[i])
		}
		err = cmp.Or(err, b.simple(ctx, execute(insertSQL, c.args()...)))
	}
	for some := range slices.Chunk(letters, 10_000) {
		err = cmp.Or(err, b.simple(ctx, bury(some, make(map[backend.Ref]bool))))
	}
	return err
}

// Unusual runs the statements that follow a lost answer to COMMIT, damaged rows, and a locked row.
func (b *postgresBackend) Unusual(ctx context.Context, worker int64, rows []backend.Row) error {
	var keys, slots refs
	var items []*item
	for i := range rows {
		keys.add(rows[i].Ref())
		slots.add(backend.Ref{Key: rows[i].Key, Generation: rows[i].Slot()})
		items = append(items, &item{op: backend.Op{Row: rows[i]}})
	}
	held, err := b.leases.owned(ctx, worker, keys)
	if err == nil && len(held.rows) < len(rows) {
		err = fmt.Errorf("%d of %d rows", len(held.rows), len(rows))
	}
	if err == nil {
		err = b.asWorker(ctx, worker, false, func(ctx context.Context, t *txn) error {
			return t.run(ctx, execute(unclaimSQL, slots.key, slots.generation, worker))
		})
	}
	if err == nil {
		_, err = b.lockedKeys(items)
	}
	return err
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
