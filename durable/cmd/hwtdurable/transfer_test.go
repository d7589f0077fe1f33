package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

// A revived occurrence whose series was cancelled must not begin the series again.
func TestMigrationKeepsRowsBesideTheMainSlot(t *testing.T) {
	ctx := t.Context()
	source, target := memdb.New(), memdb.New()
	worker, err := source.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	for _, key := range []string{"ended", "ended", "running"} {
		results, err := source.Apply(ctx, []backend.Op{
			{Kind: backend.Set, Row: backend.Row{Key: key, Due: 1, Every: "0 0 @every 5m", Payload: make([]byte, 1000)}}})
		require.NoError(t, err)
		ref := results[0].Row.Ref()
		_, err = source.Claim(ctx, worker, []backend.Claim{{Ref: ref}})
		require.NoError(t, err)
		_, err = source.Finish(ctx, worker, []backend.Outcome{{Ref: ref, Fate: backend.Bury}})
		require.NoError(t, err)
		results, err = source.Apply(ctx, []backend.Op{{Kind: backend.Requeue, Row: backend.Row{Key: key, Due: 1}, If: ref.Generation}})
		require.NoError(t, err)
		require.NoError(t, results[0].Err)
	}
	_, err = source.Apply(ctx, []backend.Op{{Kind: backend.Set, Row: backend.Row{Key: "running", Due: 2}}})
	require.NoError(t, err)
	paused := backend.Pause{Scope: backend.Scope{Prefix: "run", Group: "g"}, Reason: "outage", By: "me", Since: 7}
	require.NoError(t, source.Pause(ctx, paused))
	entries, _, err := transfer(ctx, source, target, true)
	require.NoError(t, err)
	require.Equal(t, 4, entries)
	copied, err := target.Paused(ctx)
	require.NoError(t, err)
	require.Len(t, copied, 2, "a pause of the source, and the pause of all rows")
	require.Equal(t, "migrate --paused", copied[0].Reason)
	require.Equal(t, paused, copied[1])
	for _, key := range []string{"ended", "running"} {
		rows, copies := source.Rows(key), target.Rows(key)
		require.Len(t, copies, len(rows))
		for i := range rows {
			copies[i].Generation, copies[i].Attempt = rows[i].Generation, max(rows[i].Attempt, 1)
			require.Equal(t, rows[i], copies[i])
		}
	}
}

// counter counts the claims, each of which is a transaction.
type counter struct {
	*memdb.DB
	claims int
}

func (c *counter) Claim(ctx context.Context, worker int64, claims []backend.Claim) ([]backend.Answer, error) {
	c.claims++
	return c.DB.Claim(ctx, worker, claims)
}

// A store may have very many dead letters, and several of one key.
func TestMigrationCopiesPagesOfDeadLetters(t *testing.T) {
	ctx := t.Context()
	source, middle, target := memdb.New(), &counter{DB: memdb.New()}, memdb.New()
	worker, err := source.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	const keys = 1500 // several pages
	for i := range keys + 5 {
		results, err := source.Apply(ctx, []backend.Op{{Kind: backend.Set,
			Row: backend.Row{Key: fmt.Sprintf("%06d", i%keys), Due: 1, Payload: []byte{byte(i)}}}})
		require.NoError(t, err)
		ref := results[0].Row.Ref()
		_, err = source.Claim(ctx, worker, []backend.Claim{{Ref: ref}})
		require.NoError(t, err)
		_, err = source.Finish(ctx, worker, []backend.Outcome{{Ref: ref, Fate: backend.Bury, Error: fmt.Sprint(i)}})
		require.NoError(t, err)
	}
	contents := func(b backend.Backend) (all []string) {
		page, err := b.DeadPage(ctx, "", backend.Ref{}, 2*keys)
		require.NoError(t, err)
		for _, d := range page {
			all = append(all, fmt.Sprint(d.Key, d.Payload, d.Origin, d.Nonce, d.Error))
		}
		return all
	}
	want := contents(source)
	require.Len(t, want, keys+5)
	for _, b := range []backend.Backend{middle, target} {
		_, letters, err := transfer(ctx, source, b, false)
		require.NoError(t, err)
		require.Equal(t, keys+5, letters)
		require.Equal(t, want, contents(b))
	}
	require.LessOrEqual(t, middle.claims, 14, "one per page, and one per second letter of a key")
}

func TestMigrationIsLosslessInBothDirections(t *testing.T) {
	server := startServer(t)
	dir := t.TempDir()
	file, back, url := filepath.Join(dir, "a"), filepath.Join(dir, "b"), server.URL("postgres")
	newStore(t, place.Place{File: file})
	require.Contains(t, succeed(t, "migrate", "--store", file, "--to-postgres", url), "copied 4 pending entries and 1 dead letters")
	want := contents(t, "--store", file)
	require.Len(t, want, 5)
	require.Equal(t, want, contents(t, "--postgres", url))
	succeed(t, "verify", "--postgres", url)
	succeed(t, "migrate", "--postgres", url, "--to-store", back)
	require.Equal(t, want, contents(t, "--store", back))
	status, _, log := hwtdurable(t, "migrate", "--store", file, "--to-postgres", url)
	require.Equal(t, 1, status)
	require.Contains(t, log, `the target is not empty: if a failed migration has left it, execute DROP TABLE "hwt".entry, "hwt".dead, "hwt".worker, "hwt".pause, "hwt".limits, "hwt".permit, "hwt".meta; DROP SEQUENCE "hwt".generation, "hwt".removal, "hwt".witness`)
	_, after, _ := strings.Cut(log, "execute ")
	sql, _, _ := strings.Cut(after, " in its database")
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), "CREATE TABLE hwt.another (); "+sql)
	require.NoError(t, err)
	succeed(t, "migrate", "--store", file, "--to-postgres", url)
	_, err = conn.Exec(t.Context(), "TABLE hwt.another")
	require.NoError(t, err, "the removal must leave other tables of the schema")
}

func TestFailedMigrationTellsHowToRepeatIt(t *testing.T) {
	server := startServer(t)
	from := place.Place{URL: server.URL("postgres"), Schema: "hwt"}
	newStore(t, from)
	s, err := from.Open(t.Context(), true)
	require.NoError(t, err)
	defer s.Close()
	add := func(n int) {
		_, err := s.Pool.Exec(t.Context(), "UPDATE hwt.entry SET due = due + $1 WHERE key = 'order-1'", n)
		require.NoError(t, err)
	}
	to := filepath.Join(t.TempDir(), "to")
	migrate := func() (int, string) {
		status, _, log := hwtdurable(t, "migrate", "--postgres", from.URL, "--to-store", to)
		return status, log
	}
	add(1) // damage, found after the dead letters are copied
	status, log := migrate()
	require.Equal(t, 1, status)
	require.Contains(t, log, `key "order-1"`)
	require.Contains(t, log, "the target is incomplete: delete the files "+to)
	add(-1)
	status, log = migrate()
	require.Equal(t, 1, status)
	require.Contains(t, log, to+" exists (expected: a new file)")
	require.NotContains(t, log, "delete")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		require.NoError(t, os.RemoveAll(to+suffix))
	}
	status, log = migrate()
	require.Zero(t, status, log)
	require.Equal(t, contents(t, "--postgres", from.URL), contents(t, "--store", to))
}

// SQLite creates the file of the target before it finds that it cannot create the log.
func TestMigrationNamesTheFileOfAFailedOpen(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	newStore(t, place.Place{File: from})
	require.NoError(t, os.MkdirAll(filepath.Join(to+"-wal", "full"), 0o700))
	status, _, log := hwtdurable(t, "migrate", "--store", from, "--to-store", to)
	require.Equal(t, 1, status)
	require.FileExists(t, to)
	require.Contains(t, log, "delete the files "+to)
	status, _, log = hwtdurable(t, "migrate", "--store", from, "--to-store", filepath.Join(dir, "none", "to"))
	require.Equal(t, 1, status)
	require.NotContains(t, log, "delete the files", "nothing was created")
}

// SQLite creates the file before the first entry is copied.
func TestInterruptedMigrationTellsHowToRepeatIt(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	s, err := place.Place{File: from}.Open(t.Context(), false)
	require.NoError(t, err)
	_, err = s.SetMany(t.Context(), func(yield func(durable.Entry) bool) {
		for i := 0; i < 20_000 && yield(durable.Entry{Key: fmt.Sprint(i), Due: due}); i++ {
		}
	})
	require.NoError(t, errors.Join(err, s.Close()))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for _, err := os.Stat(to); err != nil && t.Context().Err() == nil; _, err = os.Stat(to) {
			time.Sleep(time.Millisecond)
		}
	}()
	var out, log bytes.Buffer
	require.Equal(t, 130, run(ctx, []string{"migrate", "--store", from, "--to-store", to}, &out, &log), log.String())
	require.Contains(t, log.String(), "delete the files "+to)
}
