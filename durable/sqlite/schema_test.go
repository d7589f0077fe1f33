package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// older is a process with the statements of a release before the columns rare.
type older struct {
	t testing.TB
	c *conn
}

// openOlder opens a new file with the tables of an older version of the schema.
func openOlder(t testing.TB, path string, version int) older {
	c, err := open(t.Context(), path, vfsName, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	require.NoError(t, err)
	require.NoError(t, c.useWAL())
	t.Cleanup(func() { require.NoError(t, process.release(c, true)) })
	for _, sql := range migrations[:version] {
		require.NoError(t, c.Exec(sql))
	}
	return older{t, c}
}

// set stores a row, which worker has claimed unless it is 0.
func (o older) set(key string, due time.Time, worker int64, version int) {
	r := backend.Row{Key: key, Generation: 1, Due: due.UnixNano(), Attempt: 1, Nonce: 7, Payload: []byte("payload")}
	count := "pending"
	if r.Origin = 1; worker != 0 {
		r.State, r.Holder, count = backend.Claimed, worker, "claimed"
	}
	require.NoError(o.t, o.c.Exec("BEGIN IMMEDIATE"))
	_, err := bind(o.c.query("INSERT INTO hwt_entries (key, slot, gen, due, holder, sum, not_after, attempt, every, schedule, origin, nonce, payload) "+
		"VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"), &r, 0).exec()
	require.NoError(o.t, err)
	if version < 3 { // without marks
		require.NoError(o.t, o.c.Exec("UPDATE hwt_entries SET sum = sum & 4294967295"))
	}
	require.NoError(o.t, o.c.Exec("UPDATE hwt_store SET generation = max(generation, 1), "+count+" = "+count+" + 1; COMMIT"))
}

// rows returns the keys of the rows that the release finds intact, and of the damaged ones.
func (o older) rows() (intact, damaged []string) {
	err := o.c.query("SELECT key, slot, gen, due, holder, sum, not_after, attempt, every, schedule, origin, nonce, " + anyPayload +
		", 0 FROM hwt_entries AS t ORDER BY key").each(func(q *query) error {
		if r, err := scan(q); err != nil {
			damaged = append(damaged, r.Key)
		} else {
			intact = append(intact, r.Key)
		}
		return nil
	})
	require.NoError(o.t, err)
	return intact, damaged
}

func (o older) worker(id int64, lease time.Duration) {
	require.NoError(o.t, o.c.Exec(fmt.Sprintf("INSERT OR REPLACE INTO hwt_workers (id, expires) VALUES (%d, %d)", id, time.Now().Add(lease).UnixNano())))
}

func TestStoresOfOlderVersionsAreMigrated(t *testing.T) {
	for version := 1; version < len(migrations); version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			ctx, due := t.Context(), time.Now()
			path := filepath.Join(t.TempDir(), "timers.db")
			o := openOlder(t, path, version)
			o.worker(9, -time.Hour)
			o.set("claimed", due, 9, version)
			o.set("pending", due, 0, version)
			require.NoError(t, o.c.Exec("CREATE INDEX hwt_kind ON hwt_entries ("+kindOf+", due, key, slot) WHERE "+hasKind)) // as version 4 has it

			s, err := Open(ctx, path, nil)
			require.NoError(t, err)
			defer s.Close()
			require.NoError(t, s.Verify(ctx))
			heir, err := s.backend.Heartbeat(ctx, 0, time.Hour)
			require.NoError(t, err)
			rows, err := s.backend.Adopt(ctx, heir, nil, 10)
			require.NoError(t, err)
			require.Len(t, rows, 1)
			require.Equal(t, "claimed", rows[0].Key)
			lanes, err := s.backend.Lease(ctx, backend.LeaseRequest{Worker: heir, Until: due.UnixNano(), Lanes: []backend.Lane{{Max: 10}}})
			require.NoError(t, err)
			require.Len(t, lanes[0].Rows, 1)
			require.Equal(t, "pending", lanes[0].Rows[0].Key)
			count := func(from string) (n int64) {
				require.NoError(t, s.backend.read(ctx, func(c *conn) (err error) {
					n, err = c.query("SELECT count(*) FROM " + from).integer()
					return err
				}))
				return n
			}
			require.EqualValues(t, 1, count("sqlite_schema WHERE name IN ('hwt_due', 'hwt_holder')"))
			require.NoError(t, s.backend.PrepareKinds(ctx))
			require.EqualValues(t, 1, count("pragma_index_info('hwt_kind') WHERE name = 'grp'"), "a look passes over groups in the index")
		})
	}
}

func TestOlderReleaseRejectsNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timers.db")
	s, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	all := migrations
	defer func() { migrations = all }()
	migrations = all[:3]
	_, err = Open(t.Context(), path, nil)
	require.ErrorContains(t, err, fmt.Sprintf("schema version %d (expected: up to 3); use a newer release", len(all)))
}

// A process of an older release has the file open while a newer one migrates it. It works on with the rows
// that it knows, leaves rows with a group alone, and ignores pauses and limits, which the newer one keeps.
func TestOlderReleaseWorksBesideANewerOne(t *testing.T) {
	ctx, due := context.Background(), time.Now()
	path := filepath.Join(t.TempDir(), "timers.db")
	o := openOlder(t, path, 3)
	o.set("before", due, 0, 3)
	o.rows() // prepares its statement

	s, err := Open(ctx, path, nil)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Set(ctx, durable.Entry{Key: "grouped", Due: due, Group: "tenant"})
	require.NoError(t, err)
	_, err = s.Set(ctx, durable.Entry{Key: "plain", Due: due})
	require.NoError(t, err)
	require.NoError(t, s.Pause(ctx, durable.Pause{Scope: durable.Scope{Prefix: "plain"}}))
	require.NoError(t, s.backend.SetLimit(ctx, backend.Limit{Running: 2}))
	o.set("after", due, 0, 3)
	o.worker(99, time.Hour)
	limited, err := s.backend.Limited(ctx, backend.Version{})
	require.NoError(t, err)
	require.Len(t, limited.Limits, 1)
	require.Zero(t, limited.Unaware, "the limit does not wait for a worker of the older release")
	o.set("crashed", due, 99, 3)
	intact, damaged := o.rows()
	require.Equal(t, []string{"after", "before", "crashed", "plain"}, intact)
	require.Equal(t, []string{"grouped"}, damaged)

	o.worker(99, -time.Hour)
	require.NoError(t, s.Verify(ctx))
	heir, err := s.backend.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	rows, err := s.backend.Adopt(ctx, heir, nil, 10)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, 1, rows[0].Crashes)
	lanes, err := s.backend.Lease(ctx, backend.LeaseRequest{Worker: heir, Until: due.UnixNano(), Lanes: []backend.Lane{{Max: 10}}})
	require.NoError(t, err)
	require.Len(t, lanes[0].Rows, 3, "one of four is paused")
	grants, err := s.backend.Share(ctx, heir, limited.Version.Newest, []backend.Demand{{Wants: 3}})
	require.NoError(t, err)
	require.Equal(t, 2, grants[0].Held)
	_, err = s.Cancel(ctx, "after")
	require.NoError(t, err)
}
