package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

// raw changes a file behind the store's back.
func raw(t *testing.T, path, sql string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	require.NoError(t, err)
	require.NoError(t, c.Exec(sql))
	require.NoError(t, c.Close())
}

func TestDamageIsAnError(t *testing.T) {
	for column, sql := range map[string]string{
		"due":     "UPDATE hwt_entries SET due = due + 1 WHERE key = x'6b35'",
		"payload": "UPDATE hwt_entries SET payload = x'00' WHERE key = x'6b35'",
		"gen":     "UPDATE hwt_entries SET gen = gen + 1 WHERE key = x'6b35'",
		"nonce":   "UPDATE hwt_entries SET nonce = nonce + 1 WHERE key = x'6b35'",
		"large":   "UPDATE hwt_payloads SET payload = x'00' WHERE id = 6",
	} {
		t.Run(column, func(t *testing.T) {
			path := temp(t)
			s := open(t, path, nil)
			ctx := t.Context()
			payload := []byte("payload")
			if column == "large" {
				payload = make([]byte, 1000)
			}
			for i := range 10 {
				_, err := s.Set(ctx, durable.Entry{Key: fmt.Sprint("k", i), Due: time.Now().Add(time.Hour), Payload: payload})
				require.NoError(t, err)
			}
			require.NoError(t, s.Verify(ctx))
			raw(t, path, sql)
			_, err := s.Get(ctx, "k5")
			assert.ErrorIs(t, err, durable.ErrDamaged)
			assert.ErrorContains(t, s.Verify(ctx), `key "k5"`)
			_, err = s.Get(ctx, "k6")
			assert.NoError(t, err)
		})
	}
	t.Run("rows that no worker finds", func(t *testing.T) {
		path := temp(t)
		s := open(t, path, nil)
		for _, key := range []string{"slot", "holder"} {
			_, err := s.Set(t.Context(), durable.Entry{Key: key, Due: time.Now().Add(time.Hour)})
			require.NoError(t, err)
		}
		raw(t, path, `UPDATE hwt_entries SET slot = 99 WHERE key = x'736c6f74';
			UPDATE hwt_entries SET holder = 99, sum = sum | (((99 * 16777619) & 2147483647) << 32) WHERE key = x'686f6c646572'; UPDATE hwt_store SET pending = 1, claimed = 1`)
		err := s.Verify(t.Context())
		assert.ErrorIs(t, err, durable.ErrDamaged)
		assert.ErrorContains(t, err, `key "slot", generation 1: slot 99`)
		assert.ErrorContains(t, err, `key "holder", generation 2: slot 0, worker 99`)
	})
	t.Run("counts", func(t *testing.T) {
		path := temp(t)
		s := open(t, path, nil)
		raw(t, path, "UPDATE hwt_store SET pending = 5")
		assert.ErrorIs(t, s.Verify(t.Context()), durable.ErrDamaged)
	})
	t.Run("file", func(t *testing.T) {
		path := temp(t)
		require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("not a database "), 1000), 0o600))
		_, err := sqlite.Open(t.Context(), path, nil)
		assert.ErrorIs(t, err, durable.ErrDamaged)
	})
}

func TestDamagedEntryStopsNoOther(t *testing.T) {
	path := temp(t)
	s := open(t, path, nil)
	for i, key := range []string{"damaged", "claimed", "good"} {
		_, err := s.Set(t.Context(), durable.Entry{Key: key, Due: time.Now().Add(time.Duration(i)*time.Millisecond - time.Hour), Payload: []byte("payload")})
		require.NoError(t, err)
	}
	raw(t, path, `UPDATE hwt_entries SET payload = x'00' WHERE key = x'64616d61676564';
		INSERT INTO hwt_workers (id, expires) VALUES (9, 0); UPDATE hwt_entries SET holder = 9, sum = sum | (((9 * 16777619) & 2147483647) << 32) WHERE key = x'636c61696d6564';
		UPDATE hwt_store SET pending = 2, claimed = 1`)
	fired := collect(t, s)
	keys := []string{receive(t, fired).Key, receive(t, fired).Key}
	assert.ElementsMatch(t, []string{"claimed", "good"}, keys)
	_, err := s.Get(t.Context(), "damaged")
	assert.ErrorIs(t, err, durable.ErrDamaged)
}

func TestDamagedEntriesTakeNoRoomOfOthers(t *testing.T) {
	path := temp(t)
	s := open(t, path, nil)
	for i, key := range []string{"damaged", "good"} {
		_, err := s.Set(t.Context(), durable.Entry{Key: key, Due: time.Now().Add(time.Duration(i)*time.Millisecond - time.Hour), Payload: []byte("payload")})
		require.NoError(t, err)
	}
	raw(t, path, `UPDATE hwt_entries SET payload = x'00' WHERE key = x'64616d61676564'`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var fired []string
	require.NoError(t, s.Work(ctx, func(_ context.Context, f durable.Firing) error {
		fired = append(fired, f.Key)
		cancel()
		return nil
	}, &durable.WorkOptions{MaxHeld: 1}))
	assert.Equal(t, []string{"good"}, fired)
}

func TestCancelDeletesDamagedEntry(t *testing.T) {
	path := temp(t)
	s := open(t, path, nil)
	ctx := t.Context()
	for _, key := range []string{"bad", "good", "held"} {
		_, err := s.Set(ctx, durable.Entry{Key: key, Due: time.Now().Add(time.Hour), Payload: make([]byte, 1000)})
		require.NoError(t, err)
	}
	raw(t, path, `UPDATE hwt_entries SET due = due + 1 WHERE key <> x'676f6f64';
		INSERT INTO hwt_workers (id, expires) VALUES (9, 1 << 62); UPDATE hwt_entries SET holder = 9, sum = sum | (((9 * 16777619) & 2147483647) << 32) WHERE key = x'68656c64';
		INSERT INTO hwt_entries SELECT key, 99, 99, due, 0, sum & 4294967295, not_after, attempt, every, schedule, origin, nonce, NULL, NULL, NULL, NULL, NULL
			FROM hwt_entries WHERE key = x'68656c64'; -- a retry of an older version
		UPDATE hwt_store SET pending = 3, claimed = 1`)
	_, err := s.Move(ctx, "bad", time.Now())
	require.ErrorIs(t, err, durable.ErrDamaged)
	_, err = s.Cancel(ctx, "held")
	require.ErrorIs(t, err, durable.ErrFired)
	require.EqualValues(t, 3, pending(t, s), "as for any entry that fires, its retries stay")
	raw(t, path, "UPDATE hwt_workers SET expires = 0")
	for _, key := range []string{"bad", "held"} {
		e, err := s.Cancel(ctx, key)
		require.NoError(t, err)
		require.Equal(t, durable.Entry{Key: key}, e)
		_, err = s.Get(ctx, key)
		require.ErrorIs(t, err, durable.ErrNotFound)
	}
	_, err = s.Get(ctx, "good")
	require.NoError(t, err)
	require.NoError(t, s.Verify(ctx))
}

func TestDamagedEntryHidesNoOther(t *testing.T) {
	path := temp(t)
	s := open(t, path, nil)
	ctx := t.Context()
	for i := range 6 {
		_, err := s.Set(ctx, durable.Entry{Key: fmt.Sprint("k", i), Due: time.Now().Add(time.Hour)})
		require.NoError(t, err)
	}
	raw(t, path, `UPDATE hwt_entries SET due = due + 1 WHERE key IN (x'6b31', x'6b32', x'6b35');
		INSERT INTO hwt_entries SELECT key, 99, 99, due, 0, sum, not_after, attempt, every, schedule, origin, nonce, NULL, NULL, NULL, NULL, NULL
			FROM hwt_entries WHERE key = x'6b33'; -- a damaged retry of an older version
		UPDATE hwt_store SET pending = 7`)
	var damaged, intact []string
	for e, err := range s.All(ctx, "k") {
		if err == nil {
			intact = append(intact, e.Key)
			continue
		}
		require.ErrorIs(t, err, durable.ErrDamaged)
		require.ErrorContains(t, err, "All "+fmt.Sprintf("%q", e.Key))
		require.Equal(t, durable.Entry{Key: e.Key}, e)
		damaged = append(damaged, e.Key)
	}
	require.Equal(t, []string{"k0", "k3", "k4"}, intact)
	require.Equal(t, []string{"k1", "k2", "k3", "k5"}, damaged)
	n, err := s.CancelMany(ctx, durable.Scope{Prefix: "k"})
	require.Equal(t, 3, n)
	require.ErrorIs(t, err, durable.ErrDamaged)
	require.ErrorContains(t, err, `CancelMany "k1"`)
	_, err = s.Get(ctx, "k3")
	require.ErrorIs(t, err, durable.ErrNotFound)
	require.EqualValues(t, 3, pending(t, s))
}

func TestDiscardDeletesDamagedLetter(t *testing.T) {
	path := temp(t)
	s := open(t, path, nil)
	ctx := t.Context()
	_, err := s.Set(ctx, durable.Entry{Key: "k", Due: time.Now()})
	require.NoError(t, err)
	work, cancel := context.WithCancel(ctx)
	require.NoError(t, s.Work(work, func(context.Context, durable.Firing) error {
		cancel()
		return durable.GiveUp(errors.New("no"))
	}, nil))
	var generation uint64
	for d, err := range s.Dead(ctx, "") {
		require.NoError(t, err)
		generation = d.Generation
	}
	raw(t, path, "UPDATE hwt_dead SET due = due + 1")
	damaged := 0
	for d, err := range s.Dead(ctx, "") {
		damaged++
		require.ErrorIs(t, err, durable.ErrDamaged)
		require.Equal(t, durable.DeadLetter{Entry: durable.Entry{Key: "k", Generation: generation}}, d)
	}
	require.Equal(t, 1, damaged)
	_, err = s.Requeue(ctx, "k", generation)
	require.ErrorIs(t, err, durable.ErrDamaged)
	require.NoError(t, s.Discard(ctx, "k", generation))
	require.NoError(t, s.Verify(ctx))
}

// payloads returns the number of payloads that are stored beside the rows.
func payloads(t *testing.T, s *sqlite.Store) (n int) {
	t.Helper()
	require.NoError(t, s.DB().QueryRowContext(t.Context(), "SELECT count(*) FROM hwt_payloads").Scan(&n))
	return n
}

// Only the payloads of damaged rows stay: their IDs may be those of others.
func TestRemovalBesideDamageDeletesLargePayloads(t *testing.T) {
	path := temp(t)
	s := open(t, path, nil)
	ctx := t.Context()
	large := make([]byte, 1000)
	_, err := s.Set(ctx, durable.Entry{Key: "k", Due: time.Now(), Payload: large})
	require.NoError(t, err)
	var generation uint64
	work, cancel := context.WithCancel(ctx)
	require.NoError(t, s.Work(work, func(_ context.Context, f durable.Firing) error {
		generation = f.Generation
		cancel()
		return durable.GiveUp(errors.New("no"))
	}, nil))
	_, err = s.Set(ctx, durable.Entry{Key: "k", Due: time.Now().Add(time.Hour), Payload: large})
	require.NoError(t, err)
	raw(t, path, `UPDATE hwt_entries SET due = due + 1;
		INSERT INTO hwt_entries SELECT key, gen, gen, due - 1, 0, sum, not_after, attempt, every, schedule, origin, nonce, payload + 1, NULL, NULL, NULL, NULL
			FROM hwt_entries; -- an intact retry
		INSERT INTO hwt_payloads SELECT id + 1, payload FROM hwt_payloads ORDER BY id DESC LIMIT 1;
		UPDATE hwt_store SET pending = 2, large = 3`)
	require.EqualValues(t, 3, payloads(t, s))
	require.NoError(t, s.Discard(ctx, "k", generation))
	require.EqualValues(t, 2, payloads(t, s), "the intact dead letter's is left")
	_, err = s.Cancel(ctx, "k")
	require.NoError(t, err)
	require.EqualValues(t, 1, payloads(t, s), "the intact entry's is left")
	require.NoError(t, s.Verify(ctx))
}

// pending returns the number of pending entries.
func pending(t *testing.T, s *sqlite.Store) int64 {
	t.Helper()
	st, err := s.Stats(t.Context())
	require.NoError(t, err)
	return st.Pending
}

// Neither a live worker nor Adopt finds the entry: only its checksum tells.
func TestDamagedHolderIsAnError(t *testing.T) {
	for name, damage := range map[string]string{
		"of a pending entry": "UPDATE hwt_entries SET holder = 77",
		"of a live worker":   "INSERT INTO hwt_workers (id, expires) VALUES (9, 1 << 62); UPDATE hwt_entries SET holder = 9",
		"mark":               "UPDATE hwt_entries SET sum = sum | (5 << 32)",
	} {
		t.Run(name, func(t *testing.T) {
			path := temp(t)
			s := open(t, path, nil)
			ctx := t.Context()
			for _, key := range []string{"damaged", "good"} {
				_, err := s.Set(ctx, durable.Entry{Key: key, Due: time.Now().Add(-time.Hour), Payload: []byte("payload")})
				require.NoError(t, err)
			}
			raw(t, path, damage+" WHERE key = x'64616d61676564'")
			_, err := s.Get(ctx, "damaged")
			require.ErrorIs(t, err, durable.ErrDamaged)
			named := 0
			for e, err := range s.All(ctx, "d") {
				require.ErrorIs(t, err, durable.ErrDamaged)
				require.Equal(t, "damaged", e.Key)
				named++
			}
			require.Equal(t, 1, named)
			require.ErrorContains(t, s.Verify(ctx), `key "damaged"`)
			require.Equal(t, "good", receive(t, collect(t, s)).Key)
			_, err = s.Cancel(ctx, "damaged")
			require.NoError(t, err)
			_, err = s.Get(ctx, "damaged")
			require.ErrorIs(t, err, durable.ErrNotFound)
		})
	}
}
