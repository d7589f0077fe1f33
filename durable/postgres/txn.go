package postgres

import (
	"context"
	"time"
)

// Ground rules of transactions
//
// A connection may break and a server may crash at any moment of a transaction. After a lost answer to
// COMMIT, nobody knows the outcome: a repetition could apply the transaction twice, and an error could
// hide that the transaction took effect. PostgreSQL reports the outcome later, for the ID of the
// transaction. By the rules, the ID is here before COMMIT is sent. The rules tell an answer about this
// transaction from an answer about a later one with the same ID.
//
//	T1. BEGIN travels with the first statements. COMMIT travels alone, after the
//	    answer with the transaction's ID has arrived. A transaction without an ID
//	    here was never committed.
//	T2. An error before COMMIT was sent means that nothing took effect. Only then
//	    may the transaction be repeated.
//	T3. If the answer to COMMIT is lost, resolve asks the server for the outcome.
//	    It trusts the answer only on the same timeline and in the same era: after a
//	    failover or a crash, another transaction may have the same ID.
//	T4. A context of a caller never ends a COMMIT. It ends the question for the outcome
//	    of one whose answer is lost, which is unknown then.
//	T5. A call whose context has ended before its COMMIT is sent has no effect.

// home is a server between two crashes or failovers. Within one home, a transaction ID belongs to one
// transaction.
type home struct {
	era      string // changes after a crash
	timeline string // changes after a failover; "" if the server does not report it
}

// An era of a server begins with its statistics: at the first start, and after each crash.
// A later transaction may get the ID of a transaction that a crash has lost from the log.
const era = `(SELECT coalesce(extract(epoch FROM stats_reset), 0)::text FROM pg_stat_bgwriter)`

// timeline is NULL on a standby, which may become a primary.
const timeline = `CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END`

// txn is a transaction of a session.
type txn struct {
	sender   sender
	text     func(sql string) string // of the session
	timeout  time.Duration           // of a round trip
	settings []stmt                  // precede the first statements
	begun    bool
	id       identity
}

// identity names a transaction on its server.
type identity struct {
	home
	xid string
	pid int32
}

// run implements querier.
func (t *txn) run(ctx context.Context, stmts ...stmt) error {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	if !t.begun {
		t.begun = true
		first := append([]stmt{execute("BEGIN ISOLATION LEVEL READ COMMITTED")}, t.settings...)
		stmts = append(first, stmts...)
	}
	return pgxQuerier{t.sender, t.text}.run(ctx, stmts...)
}

// write implements querier.
func (t *txn) write(ctx context.Context, stmts ...stmt) error {
	return t.run(ctx, append(stmts, query(into(&t.id.xid, &t.id.pid), identify))...)
}
