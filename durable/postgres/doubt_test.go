package postgres_test

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// doubt is a store on a server that does not tell the outcomes of transactions. The server loses an answer to COMMIT.
type doubt struct {
	*postgres.Backend // through the proxy
	proxy             *pgtest.Proxy
	direct            *postgres.Backend
	pool              *pgxpool.Pool // of a superuser
}

// lostConn sends no request to cancel a statement, as if the network had failed. pgx cancels a COMMIT whose connection breaks.
type lostConn struct{ net.Conn }

func (c lostConn) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte{0, 0, 0, 16, 4, 210, 22, 46}) {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

func newDoubt(t *testing.T) *doubt {
	t.Helper()
	administer(t, "postgres", "DROP DATABASE IF EXISTS doubt WITH (FORCE)")
	administer(t, "postgres", "DROP ROLE IF EXISTS doubt")
	administer(t, "postgres", "CREATE ROLE doubt LOGIN")
	administer(t, "postgres", "CREATE DATABASE doubt OWNER doubt")
	administer(t, "doubt", "REVOKE EXECUTE ON FUNCTION pg_current_wal_lsn() FROM PUBLIC")
	p, err := pgtest.NewProxy(server.Address())
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	d := &doubt{proxy: p, pool: asRole(t, "postgres", "", "doubt", "")}
	o := postgres.Options{Schema: "doubt", PollOnly: true}
	config := asRole(t, "doubt", p.Address(), "doubt", "").Config()
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return lostConn{conn}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	d.Backend = open(t, pool, o)
	d.direct = open(t, d.pool, o)
	return d
}

// atCommit calls f before the server gets the next COMMIT.
func (d *doubt) atCommit(f func()) {
	var once atomic.Bool
	d.proxy.Lose(func(request []byte) bool {
		now := bytes.Contains(request, []byte("COMMIT\x00")) && !once.Swap(true)
		if now {
			f()
		}
		return now
	})
}

// abort ends the open transactions of the role.
func (d *doubt) abort(t *testing.T) {
	_, err := d.pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity
		WHERE usename = 'doubt' AND state = 'idle in transaction'`)
	require.NoError(t, err)
}

const unknownText = "the outcome of the transaction is unknown"

// The next look would begin behind rows that are still there.
func TestLookWithAnUnknownOutcomeReachesNothing(t *testing.T) {
	group := "g"
	for name, lane := range map[string]backend.Lane{"all groups": {Max: 9}, "a group": {Max: 9, Group: &group}} {
		t.Run(name, func(t *testing.T) {
			d := newDoubt(t)
			op := set("k", time.Now())
			op.Row.Group = group
			apply(t, d.Backend, op)
			w := register(t, d.Backend)
			d.atCommit(func() { d.abort(t) })
			lanes, err := d.Lease(t.Context(), backend.LeaseRequest{Worker: w, Until: time.Now().UnixNano(), Lanes: []backend.Lane{lane}})
			require.ErrorContains(t, err, unknownText)
			require.Equal(t, []backend.Leased{{More: lane.Selects()}}, lanes)
			require.Len(t, lease(t, d.Backend, w, time.Now()), 1)
		})
	}
}

// The worker claims its copy of a row that the lost transaction of Lease has claimed, too. The handler may have run before Lease
// returns the row.
func TestRowOfAnUnknownLookIsTried(t *testing.T) {
	d := newDoubt(t)
	row := apply(t, d.Backend, set("k", time.Now()))[0].Row
	w := register(t, d.Backend)
	d.atCommit(func() {
		d.abort(t)
		won, err := d.direct.Claim(t.Context(), w, []backend.Claim{{Ref: row.Ref()}})
		require.NoError(t, err)
		require.Equal(t, []backend.Answer{backend.Won}, won)
	})
	rows, err := d.LeaseRows(t.Context(), w, time.Now(), 9)
	require.ErrorContains(t, err, unknownText)
	require.Len(t, rows, 1)
	require.Equal(t, backend.Claimed, rows[0].State)
	require.True(t, rows[0].Tried)
}

// The connection breaks, and the server commits later.
func TestLateCommitIsAwaited(t *testing.T) {
	for name, call := range map[string]func(t *testing.T, d *doubt, w int64, row backend.Row) bool{
		"Lease": func(t *testing.T, d *doubt, w int64, row backend.Row) bool {
			rows, err := d.LeaseRows(t.Context(), w, time.Now(), 9)
			assert.ErrorContains(t, err, unknownText)
			return len(rows) == 1 && rows[0].State == backend.Claimed
		},
		"Claim": func(t *testing.T, d *doubt, w int64, row backend.Row) bool {
			answers, err := d.Claim(t.Context(), w, []backend.Claim{{Ref: row.Ref()}})
			return assert.NoError(t, err) && answers[0] == backend.Won
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoubt(t)
			row := apply(t, d.Backend, set("k", time.Now()))[0].Row
			w := register(t, d.Backend)
			_, err := d.pool.Exec(t.Context(), `CREATE FUNCTION doubt.wait() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS
				$$ BEGIN PERFORM pg_catalog.pg_advisory_xact_lock(7); RETURN NULL; END $$;
				CREATE CONSTRAINT TRIGGER wait AFTER UPDATE ON doubt.entry DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION doubt.wait()`)
			require.NoError(t, err)
			conn, err := d.pool.Acquire(t.Context())
			require.NoError(t, err)
			defer conn.Release()
			_, err = conn.Exec(t.Context(), "SELECT pg_advisory_lock(7)")
			require.NoError(t, err)
			returned := make(chan struct{})
			unlocked := make(chan error, 1)
			d.atCommit(func() {
				go func() {
					d.waitFor(t, returned, 1) // COMMIT waits
					d.proxy.Cut()
					d.waitFor(t, returned, 2) // the call waits for the transaction
					_, err := conn.Exec(context.WithoutCancel(t.Context()), "SELECT pg_advisory_unlock(7)")
					unlocked <- err
				}()
			})
			held := call(t, d, w, row)
			close(returned)
			require.NoError(t, <-unlocked)
			require.True(t, held)
		})
	}
}

// waitFor waits until n connections of the role wait for locks, or a call has returned.
func (d *doubt) waitFor(t *testing.T, returned <-chan struct{}, n int) {
	for waiting := 0; waiting < n; time.Sleep(time.Millisecond) {
		select {
		case <-returned:
			return
		default:
		}
		err := d.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE usename = 'doubt' AND wait_event_type = 'Lock'`).Scan(&waiting)
		if err != nil {
			return
		}
	}
}

func TestOpenTransactionDelaysNoClaimInDoubt(t *testing.T) {
	d := newDoubt(t)
	free, locked := apply(t, d.Backend, set("free", time.Now()))[0].Row, apply(t, d.Backend, set("locked", time.Now()))[0].Row
	w := register(t, d.Backend)
	tx, err := d.pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	_, err = tx.Exec(t.Context(), "SELECT FROM doubt.entry WHERE key = 'locked' FOR UPDATE")
	require.NoError(t, err)
	d.atCommit(func() {})
	answers, err := d.Claim(short(t), w, []backend.Claim{{Ref: free.Ref()}, {Ref: locked.Ref()}})
	require.NoError(t, err)
	require.Equal(t, []backend.Answer{backend.Won, backend.Overtaken}, answers)
}

// A failover has lost a claim. Its outcome must not end the next claim of the row, whose handler may run.
func TestOnlySuccessReachesALockedPendingRow(t *testing.T) {
	for name, leased := range map[string]bool{"free": false, "leased": true} {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t, "")
			b := open(t, pool, postgres.Options{Schema: fresh(t, "lost_claim")})
			w, rows := claimed(t, b, 3)
			_, err := pool.Exec(t.Context(), `UPDATE lost_claim.entry SET state = 0, holder = CASE WHEN $1 THEN holder ELSE 0 END`, leased)
			require.NoError(t, err)
			tx, err := pool.Begin(t.Context())
			require.NoError(t, err)
			defer tx.Rollback(context.WithoutCancel(t.Context()))
			_, err = tx.Exec(t.Context(), `SELECT FROM lost_claim.entry FOR UPDATE`)
			require.NoError(t, err)
			applied, err := b.Finish(t.Context(), w, []backend.Outcome{{Ref: rows[0].Ref()}, {Ref: rows[1].Ref(), Fate: backend.Retry}, {Ref: rows[2].Ref(), Fate: backend.Bury}})
			require.NoError(t, err)
			require.Equal(t, []bool{true, false, false}, applied)
		})
	}
}
