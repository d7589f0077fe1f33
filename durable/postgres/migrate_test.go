package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// older is a process of the release before groups and headers, with tables in the schema older.
type older struct {
	t    testing.TB
	pool *pgxpool.Pool
}

// openOlder creates the tables of a version.
func openOlder(t *testing.T, version int) older {
	pool := newPool(t, "")
	_, err := pool.Exec(t.Context(), postgres.TablesOfVersion(version, fresh(t, "older")), pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	return older{t, pool}
}

const olderColumns = "key, slot, generation, due, not_after, origin, nonce, holder, checksum, attempt, state, every, schedule, payload"

// set stores a row, or replaces it. A worker has claimed it unless holder is 0.
func (o older) set(key string, due time.Time, holder int64) {
	o.t.Helper()
	r := backend.Row{Key: key, Due: due.UnixNano(), Attempt: 1, Nonce: 7, Payload: []byte("p")}
	ctx := o.t.Context()
	require.NoError(o.t, o.pool.QueryRow(ctx, "SELECT nextval('older.generation')").Scan(&r.Generation))
	r.Origin = r.Generation
	_, err := o.pool.Exec(ctx, "INSERT INTO older.entry ("+olderColumns+`) VALUES ($1, 0, $2, $3, 0, $2, 7, $4, $5, 1, sign($4::int4)::int2, '', '', $6)
		ON CONFLICT (key, slot) DO UPDATE SET (generation, due, origin, checksum) = ROW(EXCLUDED.generation, EXCLUDED.due, EXCLUDED.origin, EXCLUDED.checksum)`,
		[]byte(key), int64(r.Generation), r.Due, holder, int64(int32(r.Checksum())), r.Payload)
	require.NoError(o.t, err)
}

// rows returns the keys of the rows that the release finds intact, and of the damaged ones.
func (o older) rows() (intact, damaged []string) {
	rows, err := o.pool.Query(o.t.Context(), "SELECT key, generation, due, origin, nonce, checksum, attempt, payload FROM older.entry ORDER BY key")
	require.NoError(o.t, err)
	for rows.Next() {
		var r backend.Row
		var key []byte
		var checksum int32
		require.NoError(o.t, rows.Scan(&key, &r.Generation, &r.Due, &r.Origin, &r.Nonce, &checksum, &r.Attempt, &r.Payload))
		if r.Key = string(key); r.Verify(0, uint32(checksum)) == nil {
			intact = append(intact, r.Key)
		} else {
			damaged = append(damaged, r.Key)
		}
	}
	require.NoError(o.t, rows.Err())
	return intact, damaged
}

// worker stores a worker with a lease of an hour, as the release does.
func (o older) worker() (id int64) {
	o.t.Helper()
	require.NoError(o.t, o.pool.QueryRow(o.t.Context(), "INSERT INTO older.worker (until) VALUES ($1) RETURNING id",
		time.Now().Add(time.Hour).UnixNano()).Scan(&id))
	return id
}

// A process of an older release works on while a newer one migrates its tables. It leaves rows with a group
// alone, and ignores pauses and limits, which the newer one keeps.
func TestOlderReleaseWorksBesideANewerOne(t *testing.T) {
	for version := 1; version <= postgres.OlderVersions; version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) { workBesideOlder(t, version) })
	}
}

func workBesideOlder(t *testing.T, version int) {
	ctx, due := t.Context(), time.Now()
	o := openOlder(t, version)
	o.set("before", due, 0)
	b := open(t, o.pool, postgres.Options{Schema: "older"})
	grouped := set("grouped", due)
	grouped.Row.Group = "tenant"
	apply(t, b, grouped, set("plain", due))
	require.NoError(t, b.Pause(ctx, backend.Pause{Scope: backend.Scope{Prefix: "plain"}}))
	require.NoError(t, b.SetLimit(ctx, backend.Limit{Running: 2}))
	o.worker()
	o.set("after", due, 0)
	o.set("before", due, 0)
	o.set("crashed", due, 99)
	intact, damaged := o.rows()
	require.Equal(t, []string{"after", "before", "crashed", "plain"}, intact)
	require.Equal(t, []string{"grouped"}, damaged)

	limited, err := b.Limited(ctx, backend.Version{})
	require.NoError(t, err)
	require.Len(t, limited.Limits, 1)
	require.Zero(t, limited.Unaware, "the limit does not wait for a worker of the older release")
	worker := register(t, b)
	rows, err := b.Adopt(ctx, worker, nil, 10)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, 1, rows[0].Crashes)
	require.Len(t, lease(t, b, worker, due), 3, "one of four is paused")
	grants, err := b.Share(ctx, worker, limited.Version.Newest, []backend.Demand{{Wants: 3}})
	require.NoError(t, err)
	require.Equal(t, 2, grants[0].Held)
}

// The migration waits for the tables, but not for longer than a second: other calls wait behind it.
func TestMigrationWaitsForLongTransactions(t *testing.T) {
	ctx := short(t)
	o := openOlder(t, 1)
	tx, err := o.pool.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "LOCK TABLE older.entry IN ACCESS SHARE MODE")
	require.NoError(t, err)
	opened := make(chan error, 1)
	go func() {
		b, err := postgres.NewBackend(ctx, o.pool, &postgres.Options{Schema: "older"})
		if err == nil {
			err = b.Close()
		}
		opened <- err
	}()
	for waits := 0; waits < 2; { // the second wait is a second try
		var n int
		require.NoError(t, o.pool.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
			AND query LIKE '%ADD COLUMN grp%' AND xact_start > now() - interval '1 second' AND pid <> pg_backend_pid()`).Scan(&n))
		if n == 1 {
			waits++
			time.Sleep(1100 * time.Millisecond) // longer than its lock_timeout
		}
	}
	select {
	case err := <-opened:
		t.Fatal("opened beside a transaction that reads the table:", err)
	default:
	}
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, <-opened)
}
