package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Ground rules of transactions
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

// errUnknown reports that the fate of a transaction cannot be learned.
var errUnknown = errors.New("the outcome of the transaction is unknown: the answer to COMMIT is lost")

// errAborted reports that a transaction had no effect.
var errAborted = errors.New("the transaction was rolled back")

// txn is a transaction of the backend.
type txn struct {
	b        *postgresBackend
	conn     *pgxpool.Conn
	settings []stmt // precede the first statements
	begun    bool
	id       identity
}

// identity names a transaction on its server.
type identity struct {
	xid      string
	timeline string
	era      string
	pid      int32
}

// An era of a server begins when its statistics do: at its first start, and after each
// crash. Transactions whose log a crash has lost leave their IDs to later ones.
const era = `(SELECT coalesce(extract(epoch FROM stats_reset), 0)::text FROM pg_stat_bgwriter)`

const identify = `SELECT pg_current_xact_id()::text, left(pg_walfile_name(pg_current_wal_lsn()), 8), pg_backend_pid()`

// run implements querier.
func (t *txn) run(ctx context.Context, stmts ...stmt) error {
	ctx, cancel := context.WithTimeout(ctx, t.b.options.Timeout)
	defer cancel()
	if !t.begun {
		t.begun = true
		first := append([]stmt{execute("BEGIN ISOLATION LEVEL READ COMMITTED")}, t.settings...)
		stmts = append(first, stmts...)
	}
	return pgxQuerier{t.conn, t.b.text}.run(ctx, stmts...)
}

// write implements querier.
func (t *txn) write(ctx context.Context, stmts ...stmt) error {
	stmts = append(stmts, query(into(&t.id.xid, &t.id.timeline, &t.id.pid), identify))
	// A crash ends the connection, so the era is read once for each. Reading the server's
	// statistics is slow on PostgreSQL 14.
	const key = "hwt era"
	known := t.conn.Conn().PgConn().CustomData()
	if t.id.era, _ = known[key].(string); t.id.era == "" {
		stmts = append(stmts, query(func(scan scanner) error {
			err := scan(&t.id.era)
			known[key] = t.id.era
			return err
		}, "SELECT "+era))
	}
	return t.run(ctx, stmts...)
}

// Settings of a transaction. Statements on few rows must use an index in its order,
// whatever the planner believes of a table that has just been filled: no scan of the
// table, and no sort of all rows within the lead for one batch of them. The planner then
// takes the reading of a sequence for expensive, and would compile it.
//
// The server gives up the wait for a lock before Options.Timeout gives up the connection. It ends
// a transaction whose client is silent for that time: that of a machine that has died would keep
// its rows locked, and claims skip locked rows.
func (b *postgresBackend) settings(lockTimeout time.Duration, async bool) []stmt {
	lockTimeout = min(lockTimeout, b.options.Timeout/2)
	return []stmt{query(nil, `SELECT set_config('lock_timeout', $1, true), set_config('jit', 'off', true),
		set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
		set_config('synchronous_commit', CASE WHEN $2 THEN 'off' ELSE current_setting('synchronous_commit') END, true),
		set_config('idle_in_transaction_session_timeout', $3, true)`,
		fmt.Sprintf("%dms", lockTimeout.Milliseconds()), async, fmt.Sprintf("%dms", b.options.Timeout.Milliseconds()))}
}

// inTx runs f in a transaction, which begins with the first statement, and commits it. f calls write
// last if it writes.
func (b *postgresBackend) inTx(ctx context.Context, settings []stmt, f func(t *txn) error) error {
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	t := &txn{b: b, conn: conn, settings: settings}
	if err := f(t); err != nil || !t.begun {
		b.rollback(conn)
		return err
	}
	return t.commit(ctx)
}

// rollback ends a transaction and returns its connection to the pool.
func (b *postgresBackend) rollback(conn *pgxpool.Conn) {
	defer conn.Release() // which closes a connection that is still in a transaction
	if conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, b.options.Timeout)
	defer cancel()
	conn.Exec(ctx, "ROLLBACK") // Release closes the connection if this failed
}

// commit commits and releases the connection.
func (t *txn) commit(ctx context.Context) error {
	limited, cancel := context.WithTimeout(t.b.ctx, t.b.options.Timeout)
	defer cancel()
	tag, err := t.conn.Exec(limited, "COMMIT")
	t.conn.Release() // closes a connection without an answer
	var answer *pgconn.PgError
	switch {
	case err == nil && tag.String() == "COMMIT":
		return nil
	case err == nil:
		return errAborted
	case errors.As(err, &answer) && answer.SeverityUnlocalized == "ERROR":
		return err
	case t.id.xid == "":
		return nil // it only read
	}
	return t.b.resolve(ctx, t.id)
}

// resolve waits until the server knows how a transaction ended, or ctx ends. After a COMMIT whose
// connection broke, the server may have ended the wait for the synchronous standbys: resolve then
// waits for a later commit that reaches them.
func (b *postgresBackend) resolve(ctx context.Context, id identity) error {
	var patience time.Duration
	committed := false
	for {
		var status *string
		var timeline, now string
		stmts := []stmt{query(into(&status, &timeline, &now), `SELECT pg_xact_status($1::text::xid8), left(pg_walfile_name(pg_current_wal_lsn()), 8), `+era, id.xid)}
		if committed {
			stmts = append(stmts, query(nil, `SELECT pg_logical_emit_message(true, 'hwt', '')`))
		}
		err := b.simple(ctx, stmts...)
		switch {
		case b.ctx.Err() != nil:
			return backend.ErrClosed
		case err == nil && (timeline != id.timeline || now != id.era || status == nil), sqlState(err) == "22023":
			return errUnknown
		case err == nil && *status == "aborted":
			return errAborted
		case err == nil && committed:
			return nil
		case err == nil && *status == "committed":
			committed = true
			continue
		case ctx.Err() != nil:
			return errUnknown
		case err == nil && patience > time.Second:
			b.terminate(id)
		}
		patience = b.pause(ctx, patience)
	}
}

// terminate ends the server's process of a transaction whose client is gone.
func (b *postgresBackend) terminate(id identity) {
	b.simple(b.ctx, query(nil, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE pid = $1 AND backend_xid = $2::text::xid8::xid`, id.pid, id.xid)) // resolve calls it again after an error
}

// simple runs statements outside of a transaction.
func (b *postgresBackend) simple(ctx context.Context, stmts ...stmt) error {
	ctx, cancel := context.WithTimeout(ctx, b.options.Timeout)
	defer cancel()
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return pgxQuerier{conn, b.text}.run(ctx, stmts...)
}

// pause sleeps after a failure, for longer after each, and returns the sum of all pauses so far.
func (b *postgresBackend) pause(ctx context.Context, before time.Duration) time.Duration {
	d := min(max(before/2, 10*time.Millisecond), 500*time.Millisecond)
	b.sleep(ctx, d)
	return before + d
}

// sleep waits for d, until ctx ends, or until the backend is closed.
func (b *postgresBackend) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-b.ctx.Done():
	}
}

// insist repeats f while it fails without effect for a reason that passes, until ctx
// ends or the backend is closed. Each try is a transaction.
func (b *postgresBackend) insist(ctx context.Context, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(b.ctx, func() { cancel(backend.ErrClosed) })()
	var patience time.Duration
	var last error
	for {
		if b.ctx.Err() != nil {
			return backend.ErrClosed
		}
		err := f(ctx)
		switch {
		case err == nil || !passes(err):
			return described(err)
		case b.ctx.Err() != nil:
			return backend.ErrClosed
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w", context.Cause(ctx), cmp.Or(last, err)) // err is the context's, too
		}
		last = err
		patience = b.pause(ctx, patience)
	}
}
