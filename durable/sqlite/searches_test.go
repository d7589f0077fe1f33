package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// pagesRead returns the number of pages that the connections for reads have looked at.
func pagesRead(t *testing.T, s *Store) (n int64) {
	for range readers {
		c := <-s.backend.readers
		hits, _, err := c.Status(sqlite3.DBSTATUS_CACHE_HIT, false)
		require.NoError(t, err)
		misses, _, err := c.Status(sqlite3.DBSTATUS_CACHE_MISS, false)
		require.NoError(t, err)
		n += hits + misses
		s.backend.readers <- c
	}
	return n
}

// die claims entries for a worker that is gone then.
func die(t *testing.T, s *Store, keys ...string) {
	t.Helper()
	ctx := t.Context()
	id, err := s.backend.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	for _, key := range keys {
		e, err := s.Get(ctx, key)
		require.NoError(t, err)
		answers, err := s.backend.Claim(ctx, id, []backend.Claim{{Ref: backend.Ref{Key: key, Generation: e.Generation}}})
		require.NoError(t, err)
		require.Equal(t, []backend.Answer{backend.Won}, answers)
	}
	_, err = s.backend.Heartbeat(ctx, id, 0)
	require.NoError(t, err)
}

// A worker that is gone keeps a claimed entry of a kind that nobody handles, behind a backlog of that kind.
func TestAdoptReadsABacklogOnce(t *testing.T) {
	ctx, s := t.Context(), openTemp(t)
	const backlog = 20_000
	due := time.Now().Add(-time.Hour)
	_, err := s.SetMany(ctx, func(yield func(durable.Entry) bool) {
		for i := range backlog {
			if !yield(durable.Entry{Key: fmt.Sprint("other/", i), Due: due}) {
				return
			}
		}
	})
	require.NoError(t, err)
	for _, key := range []string{"other/last", "mail/first", "mail/second"} {
		_, err := s.Set(ctx, durable.Entry{Key: key, Due: due.Add(time.Second)})
		require.NoError(t, err)
	}
	heir, err := s.backend.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	adopt := func(kinds ...string) (keys []string, read int64) {
		before := pagesRead(t, s)
		rows, err := s.backend.Adopt(ctx, heir, kinds, 10)
		require.NoError(t, err)
		for _, r := range rows {
			keys = append(keys, r.Key)
		}
		return keys, pagesRead(t, s) - before
	}
	requireSearch := func(searches bool, want []string, kinds ...string) {
		t.Helper()
		keys, read := adopt(kinds...)
		require.Equal(t, want, keys)
		require.Equal(t, searches, read > backlog, "%d pages", read)
	}
	die(t, s, "other/last")
	requireSearch(true, nil, "mail/")
	requireSearch(false, nil, "mail/")
	requireSearch(true, nil, "call/")
	requireSearch(false, nil, "mail/")
	die(t, s, "mail/first")
	requireSearch(true, []string{"mail/first"}, "mail/")
	requireSearch(true, nil, "mail/")
	requireSearch(false, nil, "mail/")
	die(t, s, "mail/second")
	mail := durable.Scope{Prefix: "mail/"}
	require.NoError(t, s.Pause(ctx, durable.Pause{Scope: mail}))
	requireSearch(true, nil, "mail/")
	requireSearch(false, nil, "mail/")
	require.NoError(t, s.Resume(ctx, mail))
	requireSearch(true, []string{"mail/second"}, "mail/")
	requireSearch(true, []string{"other/last"}, "other/")
	requireSearch(false, nil, "other/") // no worker is gone any more
}

// A trigger of the user rejects more rows of workers that are gone than a call adopts.
func TestRejectedRowsKeepNoOtherRowWaiting(t *testing.T) {
	ctx, s := t.Context(), openTemp(t)
	set := func(key string, due int64) {
		_, err := s.Set(ctx, durable.Entry{Key: key, Due: time.Unix(due, 0)})
		require.NoError(t, err)
	}
	var keys []string
	for i := range 7 {
		keys = append(keys, fmt.Sprint("k", i))
		set(keys[i], int64(i+2))
	}
	die(t, s, keys...)
	_, err := s.DB().ExecContext(ctx, "CREATE TRIGGER reject BEFORE UPDATE OF crashes ON hwt_entries WHEN CAST(new.key AS TEXT) NOT IN ('first', 'k2', 'k6') BEGIN SELECT RAISE(ABORT, 'no'); END")
	require.NoError(t, err)
	heir, err := s.backend.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	adopt := func() (adopted []string) {
		rows, _ := s.backend.Adopt(ctx, heir, nil, 2)
		for _, r := range rows {
			adopted = append(adopted, r.Key)
		}
		return adopted
	}
	require.Empty(t, adopt())
	set("first", 1)
	die(t, s, "first")
	require.Equal(t, []string{"first", "k2"}, adopt())
	require.Empty(t, adopt())
	require.Equal(t, []string{"k6"}, adopt())
	_, err = s.DB().ExecContext(ctx, "DROP TRIGGER reject")
	require.NoError(t, err)
	var adopted []string
	for range len(keys) {
		adopted = append(adopted, adopt()...)
	}
	require.ElementsMatch(t, []string{"k0", "k1", "k3", "k4", "k5"}, adopted)
	require.NoError(t, s.backend.read(ctx, func(c *conn) error {
		n, err := c.query("SELECT count(*) FROM hwt_workers").integer()
		require.EqualValues(t, 1, n, "the heir")
		return err
	}))
}
