package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hashedwheel/hwt/durable/backend"
)

// session runs statements and transactions on connections of the pool, and repeats both while the
// database is away. The other parts of the backend use a session.
type session struct {
	pool    *pgxpool.Pool
	options Options                 // complete. Immutable.
	text    func(sql string) string // fills in a statement. Immutable.
	homeKey string                  // of the store's homes of connections. Immutable.
	ctx     context.Context         // ends when the backend is closed
	end     context.CancelFunc
	tasks   sync.WaitGroup

	reset   atomic.Int64 // time of the last Reset of the pool, in nanoseconds. Atomic.
	trouble *trouble
	acks    *acks
	budget  budget
}

func newSession(pool *pgxpool.Pool, o Options) *session {
	s := &session{pool: pool, options: o, text: forSchema(o.Schema), homeKey: "hwt home " + rand.Text(), acks: &acks{},
		trouble: &trouble{logger: o.Logger}}
	s.budget.limit.Store(backend.BatchBytes)
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Trouble implements [backend.Backend].
func (s *session) Trouble() *backend.Trouble { return &s.trouble.Trouble }

// settings returns the settings of a transaction.
//
// The server gives up the wait for a lock before Options.Timeout gives up the connection. The
// server ends a transaction of a client that is silent for that time: the transaction of a
// dead machine would keep rows locked, and claims skip locked rows. If a role has
// synchronous_commit off, the store would lose calls that have returned nil, and claims of
// entries that have fired.
func (s *session) settings(lockTimeout time.Duration, async bool) []stmt {
	lockTimeout = min(lockTimeout, s.options.Timeout/2)
	return []stmt{query(nil, `SELECT `+planning+`, set_config('lock_timeout', $1, true),
		set_config('synchronous_commit', CASE WHEN $2 THEN 'off' WHEN current_setting('synchronous_commit') = 'off' THEN 'on'
			ELSE current_setting('synchronous_commit') END, true),
		set_config('idle_in_transaction_session_timeout', $3, true)`,
		fmt.Sprintf("%dms", lockTimeout.Milliseconds()), async, fmt.Sprintf("%dms", s.options.Timeout.Milliseconds()))}
}

// inTx runs f in a transaction, and commits. The transaction begins with the first
// statement. f calls write last, if f writes.
func (s *session) inTx(ctx context.Context, settings []stmt, f func(t *txn) error) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	t := &txn{sender: conn, text: s.text, timeout: s.options.Timeout, settings: settings}
	if t.id.home, err = s.homeOf(ctx, conn); err == nil {
		err = f(t)
	}
	if err != nil || !t.begun {
		s.rollback(conn, err)
		return err
	}
	return s.commit(ctx, conn, t.id)
}

// homeOf returns the home of a connection. homeOf asks the server before the store's first transaction
// on a connection, and a connection ends with its home: reading the server's statistics is slow on
// PostgreSQL 14. Each store of the pool asks, because the acks of each store need the era. Amazon
// Aurora does not report its timeline, and a hardened server may forbid each of these functions. The
// outcome of a transaction with a lost answer to COMMIT is then unknown.
func (s *session) homeOf(ctx context.Context, conn *pgxpool.Conn) (home, error) {
	known := conn.Conn().PgConn().CustomData()
	if h, ok := known[s.homeKey].(home); ok {
		return h, nil
	}
	var h home
	var line *string
	var flush int64
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	q := pgxQuerier{conn, s.text}
	for _, question := range []stmt{
		query(into(&h.era, &flush), "SELECT "+era+", (extract(epoch FROM current_setting('wal_writer_delay')::interval) * 1000000000)::int8"),
		query(into(&line), "SELECT "+timeline),
	} {
		if err := q.run(ctx, question); err != nil && (sqlState(err) == "" || passes(err)) {
			return h, err
		}
	}
	if line != nil {
		h.timeline = *line
	}
	s.acks.arrive(h.era, time.Duration(flush))
	known[s.homeKey] = h
	return h, nil
}

// acquire takes a connection from the pool. It waits for Options.Timeout at most: the error
// then reports that the pool has no free connection.
func (s *session) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		err = fmt.Errorf("%w: %w", errPool, err)
	}
	return conn, err
}

// rollback ends a begun transaction that failed with err, and releases the connection.
func (s *session) rollback(conn *pgxpool.Conn, err error) {
	if conn.Conn().PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(s.ctx, s.options.Timeout)
		defer cancel()
		conn.Exec(ctx, "ROLLBACK") // Release closes the connection if this failed
	}
	s.release(conn, err)
}

// release returns a connection to the pool after err. If it leads to a server that has become
// read-only or ends, release makes the pool connect again, since others may lead there, too.
func (s *session) release(conn *pgxpool.Conn, err error) {
	code := sqlState(err)
	stale := code == "25006" || strings.HasPrefix(code, "57P0")
	if now := time.Now().UnixNano(); stale && now-s.reset.Load() > int64(time.Second) {
		s.reset.Store(now)
		s.pool.Reset()
	}
	conn.Release() // closes the connection if a transaction is open, or if the pool was reset
}

// commit commits a transaction and releases its connection.
func (s *session) commit(ctx context.Context, conn *pgxpool.Conn, id identity) error {
	limited, cancel := context.WithTimeout(s.ctx, s.options.Timeout)
	defer cancel()
	tag, err := conn.Exec(limited, "COMMIT")
	conn.Release() // closes a connection without an answer
	var answer *pgconn.PgError
	switch {
	case err == nil && tag.String() == "COMMIT":
		return nil
	case err == nil:
		return errAborted
	case errors.As(err, &answer) && answer.SeverityUnlocalized == "ERROR":
		return err
	case id.xid == "":
		return nil // it only read
	case id.timeline == "":
		return errUnknown
	}
	return s.resolve(ctx, id)
}

// resolve waits until the server knows how a transaction ended, or ctx ends. If the connection
// of a COMMIT broke, the server may have ended the wait for the synchronous standbys: resolve
// then waits for a later commit that reaches them.
func (s *session) resolve(ctx context.Context, id identity) error {
	var patience time.Duration
	committed := false
	for {
		var status, line *string
		var now string
		stmts := []stmt{query(into(&status, &line, &now), "SELECT pg_xact_status($1::text::xid8), "+timeline+", "+era, id.xid)}
		if committed {
			stmts = append(stmts, query(nil, `SELECT pg_logical_emit_message(true, 'hwt', '')`))
		}
		err := s.simple(ctx, stmts...)
		switch {
		case s.ctx.Err() != nil:
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
			s.terminate(id)
		}
		if err != nil {
			s.trouble.note(err)
		}
		patience = s.pause(ctx, patience)
	}
}

// terminate ends the server's process of a transaction after its client is gone.
func (s *session) terminate(id identity) {
	s.simple(s.ctx, query(nil, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE pid = $1 AND backend_xid = $2::text::xid8::xid`, id.pid, id.xid)) // resolve calls it again after an error
}

// simple runs statements in one round trip, which the server takes for a transaction.
func (s *session) simple(ctx context.Context, stmts ...stmt) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	err = pgxQuerier{conn, s.text}.run(ctx, append([]stmt{query(nil, planningSQL)}, stmts...)...)
	s.release(conn, err)
	return err
}

// insist repeats f while it fails without effect for a reason that passes, until ctx
// ends or the backend is closed. Each try is a transaction.
func (s *session) insist(ctx context.Context, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(backend.ErrClosed) })()
	var patience time.Duration
	var last error
	for {
		if s.ctx.Err() != nil {
			return backend.ErrClosed
		}
		err := f(ctx)
		switch {
		case err == nil:
			s.trouble.over()
			return nil
		case !passes(err):
			return described(err)
		case s.ctx.Err() != nil:
			return backend.ErrClosed
		case ctx.Err() != nil:
			return ended(ctx, cmp.Or(last, err)) // err is the context's, too
		}
		last = err
		s.trouble.note(err)
		patience = s.pause(ctx, patience)
	}
}

// pause sleeps after a failure, for longer after each, and returns the sum of all pauses so far.
func (s *session) pause(ctx context.Context, before time.Duration) time.Duration {
	d := min(max(before/2, 10*time.Millisecond), 500*time.Millisecond)
	s.sleep(ctx, d)
	return before + d
}

// sleep waits for d, until ctx ends, or until the backend is closed.
func (s *session) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
}
