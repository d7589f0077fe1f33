package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
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
//	T5. A call whose context has ended before its COMMIT is sent has no effect.

// errUnknown reports that the fate of a transaction cannot be learned.
var errUnknown = errors.New("the outcome of the transaction is unknown: the answer to COMMIT is lost")

// errAbandoned reports that a transaction was rolled back because the context of a call has ended.
var errAbandoned = errors.New("the context of a call has ended")

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
	home
	xid string
	pid int32
}

const identify = `SELECT pg_current_xact_id()::text, pg_backend_pid()`

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
	return t.run(ctx, append(stmts, query(into(&t.id.xid, &t.id.pid), identify))...)
}

// Settings of a transaction. Statements on few rows must use an index in its order,
// whatever the planner believes of a table that has just been filled: no scan of the
// table, and no sort of all rows within the lead for one batch of them. The planner then
// takes the reading of a sequence for expensive, and would compile it.
//
// With row_security off, a statement fails instead of passing over rows that are hidden from the role.
//
// The server gives up the wait for a lock before Options.Timeout gives up the connection. It ends
// a transaction whose client is silent for that time: that of a machine that has died would keep
// its rows locked, and claims skip locked rows. A role whose synchronous_commit is off would lose calls
// that have returned nil, and claims of entries that have fired.
func (b *postgresBackend) settings(lockTimeout time.Duration, async bool) []stmt {
	lockTimeout = min(lockTimeout, b.options.Timeout/2)
	return []stmt{query(nil, `SELECT set_config('lock_timeout', $1, true), set_config('jit', 'off', true),
		set_config('row_security', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
		set_config('synchronous_commit', CASE WHEN $2 THEN 'off' WHEN current_setting('synchronous_commit') = 'off' THEN 'on'
			ELSE current_setting('synchronous_commit') END, true),
		set_config('idle_in_transaction_session_timeout', $3, true)`,
		fmt.Sprintf("%dms", lockTimeout.Milliseconds()), async, fmt.Sprintf("%dms", b.options.Timeout.Milliseconds()))}
}

// inTx runs f in a transaction, which begins with the first statement, and commits it. f calls write
// last if it writes.
func (b *postgresBackend) inTx(ctx context.Context, settings []stmt, f func(t *txn) error) error {
	conn, err := b.acquire(ctx)
	if err != nil {
		return err
	}
	t := &txn{b: b, conn: conn, settings: settings}
	if t.id.home, err = b.homeOf(ctx, conn); err == nil {
		err = f(t)
	}
	if err != nil || !t.begun {
		b.rollback(conn, err)
		return err
	}
	return t.commit(ctx)
}

// acquire takes a connection from the pool. The wait ends as that for an answer does, so that
// a pool whose connections are all in use is noticed.
func (b *postgresBackend) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, b.options.Timeout)
	defer cancel()
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		err = fmt.Errorf("%w: %w", errPool, err)
	}
	return conn, err
}

// rollback ends a transaction that failed with err, if it has begun, and releases its connection.
func (b *postgresBackend) rollback(conn *pgxpool.Conn, err error) {
	if conn.Conn().PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(b.ctx, b.options.Timeout)
		defer cancel()
		conn.Exec(ctx, "ROLLBACK") // Release closes the connection if this failed
	}
	b.release(conn, err)
}

// release returns a connection to the pool after err. If it leads to a server that has become
// read-only or ends, release makes the pool connect again, since others may lead there, too.
func (b *postgresBackend) release(conn *pgxpool.Conn, err error) {
	code := sqlState(err)
	stale := code == "25006" || strings.HasPrefix(code, "57P0")
	if now := time.Now().UnixNano(); stale && now-b.reset.Load() > int64(time.Second) {
		b.reset.Store(now)
		b.pool.Reset()
	}
	conn.Release() // closes it if it is in a transaction, or the pool was reset meanwhile
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
	case t.id.timeline == "":
		return errUnknown
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
		var status, line *string
		var now string
		stmts := []stmt{query(into(&status, &line, &now), "SELECT pg_xact_status($1::text::xid8), "+timeline+", "+era, id.xid)}
		if committed {
			stmts = append(stmts, query(nil, `SELECT pg_logical_emit_message(true, 'hwt', '')`))
		}
		err := b.simple(ctx, stmts...)
		switch {
		case b.ctx.Err() != nil:
			return backend.ErrClosed
		case err == nil && line == nil: // a standby
		case err == nil && (*line != id.timeline || now != id.era || status == nil), err != nil && !passes(err):
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
		if err != nil {
			b.trouble.note(err)
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
	conn, err := b.acquire(ctx)
	if err != nil {
		return err
	}
	err = pgxQuerier{conn, b.text}.run(ctx, stmts...)
	b.release(conn, err)
	return err
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
		case err == nil:
			b.trouble.over()
			return nil
		case !passes(err):
			return described(err)
		case b.ctx.Err() != nil:
			return backend.ErrClosed
		case ctx.Err() != nil:
			return ended(ctx, cmp.Or(last, err)) // err is the context's, too
		}
		last = err
		b.trouble.note(err)
		patience = b.pause(ctx, patience)
	}
}
