package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

func TestMissingIndexOfKindsIsNamed(t *testing.T) {
	pool := newPool(t, "")
	open(t, pool, postgres.Options{Schema: fresh(t, "unowned")})
	_, err := pool.Exec(t.Context(), `DROP ROLE IF EXISTS worker; CREATE ROLE worker LOGIN; GRANT USAGE ON SCHEMA unowned TO worker;
		GRANT SELECT ON unowned.meta TO worker; GRANT SELECT, INSERT, UPDATE, DELETE ON unowned.entry, unowned.dead, unowned.worker, unowned.pause, unowned.limits, unowned.permit TO worker;
		GRANT USAGE ON ALL SEQUENCES IN SCHEMA unowned TO worker`)
	require.NoError(t, err)
	b := open(t, poolWith(t, "role", "worker"), postgres.Options{Schema: "unowned"})
	err = b.PrepareKinds(t.Context())
	require.ErrorContains(t, err, "does not own the table entry: execute CREATE INDEX IF NOT EXISTS entry_kind")
	_, statement, _ := strings.Cut(err.Error(), "execute ")
	statement, _, _ = strings.Cut(statement, " as its owner")
	_, err = pool.Exec(t.Context(), statement)
	require.NoError(t, err)
	require.NoError(t, b.PrepareKinds(t.Context()))
}

// Without notifications, only polling finds rows behind the mark.
func TestPollingFindsRowsBehindTheMark(t *testing.T) {
	for name, o := range map[string]postgres.Options{"PollOnly": {PollOnly: true}, "QuietTx": {QuietTx: true}} {
		t.Run(name, func(t *testing.T) {
			requireFindsBehindMark(t, open(t, newPool(t, ""), o))
		})
	}
}

// requireFindsBehindMark fails the test unless Lease returns rows behind the mark.
func requireFindsBehindMark(t *testing.T, b *postgres.Backend) {
	t.Helper()
	now := time.Now()
	apply(t, b, set("first", now.Add(time.Minute)))
	w := register(t, b)
	rows := lease(t, b, w, now.Add(time.Minute))
	require.Len(t, rows, 1)
	apply(t, b, set("behind", now.Add(time.Second)))
	lanes, err := b.Lease(t.Context(), backend.LeaseRequest{Worker: w, Until: now.Add(time.Minute).UnixNano(),
		Lanes: []backend.Lane{{After: backend.Cursor{Due: rows[0].Due, Key: rows[0].Key}, Max: 100}}})
	require.NoError(t, err)
	require.Len(t, lanes[0].Rows, 1)
	require.Equal(t, "behind", lanes[0].Rows[0].Key)
}

// The marks of other workers may have passed the rows that an ended worker has leased. They would
// find them by their next sweep only.
func TestFreedRowsAreAnnounced(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "freed"), PollOnly: true})
	conn := listener(t, pool, "freed")
	due := time.Now().Add(time.Minute)
	apply(t, b, set("k", due))
	for name, free := range map[string]func(worker int64) error{
		"Heartbeat": func(worker int64) error {
			_, err := b.Heartbeat(ctx, worker, 0)
			return err
		},
		"Adopt": func(worker int64) error {
			_, err := pool.Exec(ctx, "UPDATE freed.worker SET until = 0 WHERE id = $1", worker)
			require.NoError(t, err)
			_, err = b.Adopt(ctx, register(t, b), nil, 9)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := register(t, b)
			require.Len(t, lease(t, b, w, due), 1)
			looks := make(chan struct{}, 100)
			defer b.Watch(func([]backend.Row) { looks <- struct{}{} })()
			require.NoError(t, free(w))
			require.NotEmpty(t, looks, "of this process")
			_, err := conn.WaitForNotification(short(t))
			require.NoError(t, err)
		})
	}
}

// A worker may hold tens of thousands of rows. To free them all takes longer than a short
// Options.Timeout, after which one transaction for all would be repeated forever.
func TestManyLeasedRowsAreFreed(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "burst"), Timeout: 100 * time.Millisecond, PollOnly: true})
	for name, free := range map[string]func(ctx context.Context, worker int64) error{
		"Free": b.Free,
		"Adopt": func(ctx context.Context, worker int64) error {
			_, err := pool.Exec(ctx, "UPDATE burst.worker SET until = 0 WHERE id = $1", worker)
			require.NoError(t, err)
			_, err = b.Adopt(ctx, register(t, b), nil, 9)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := register(t, b)
			_, err := pool.Exec(ctx, `INSERT INTO burst.entry SELECT 0, g, g, 0, 0, 0, $1, 0, 1, 0, int8send(g), '', '', '' FROM generate_series(1, 20000) g`, w)
			require.NoError(t, err)
			left := 20_000
			for range 3 { // on a slow machine, a transaction that was given up may hold rows for a while
				require.NoError(t, free(short(t), w))
				require.NoError(t, pool.QueryRow(ctx, `SELECT count(*) FROM burst.entry WHERE holder <> 0`).Scan(&left))
			}
			require.Zero(t, left)
			_, err = pool.Exec(ctx, `TRUNCATE burst.entry`)
			require.NoError(t, err)
		})
	}
}

// An entry that has killed a worker, and an entry of a serial key, must wait for a claim of its own.
func TestLeaseClaimsNoSuspectAndNoSerialEntry(t *testing.T) {
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "unclaimed")})
	worker, err := b.Heartbeat(t.Context(), 0, time.Minute)
	require.NoError(t, err)
	now, err := b.Now(t.Context())
	require.NoError(t, err)
	_, err = b.Apply(t.Context(), []backend.Op{{Row: backend.Row{Key: "plain", Due: 1}}, {Row: backend.Row{Key: "suspect", Due: 2}}})
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `UPDATE unclaimed.entry SET crashes = 1 WHERE key = 'suspect'`)
	require.NoError(t, err)
	for _, unclaimed := range []bool{true, false} {
		lanes, err := b.Lease(t.Context(), backend.LeaseRequest{Worker: worker, Until: now.UnixNano(), Unclaimed: unclaimed, Lanes: []backend.Lane{{Max: 10}}})
		require.NoError(t, err)
		require.Len(t, lanes[0].Rows, 2)
		for _, r := range lanes[0].Rows {
			require.Equal(t, r.Key == "plain" && !unclaimed, r.State == backend.Claimed, "%s, unclaimed=%v", r.Key, unclaimed)
		}
		require.NoError(t, b.Free(t.Context(), worker))
	}
}

// A crash of the server that takes longer than a lease loses acknowledgements and leases.
func TestLostAcknowledgementPrecedesAdoption(t *testing.T) {
	ctx := t.Context()
	b := open(t, newPool(t, ""), postgres.Options{})
	worker, rows := claimed(t, b, 2)
	_, err := b.Heartbeat(ctx, worker, 0)
	require.NoError(t, err)
	heir := register(t, b)
	b.LoseAck(worker, rows[0].Ref())
	var adopted []backend.Row
	require.Eventually(t, func() bool {
		adopted, err = b.Adopt(ctx, heir, nil, 9)
		return err != nil || len(adopted) > 0
	}, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, err)
	require.Len(t, adopted, 1)
	require.Equal(t, rows[1].Key, adopted[0].Key)
	_, err = b.Get(ctx, rows[0].Key)
	require.ErrorIs(t, err, backend.ErrNotFound)
}
