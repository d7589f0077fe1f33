package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

// rejections are bodies of triggers that reject a row.
var rejections = map[string]string{
	"abort":    "SELECT RAISE(ABORT, 'no')",
	"fail":     "SELECT RAISE(FAIL, 'no')",
	"rollback": "SELECT RAISE(ROLLBACK, 'no')",
	"function": "SELECT abs(-9223372036854775808)", // fails with SQLITE_ERROR
}

// reject creates a trigger that rejects changes of the key bad. The returned function drops it.
func reject(t *testing.T, s *sqlite.Store, event, row, body string) (accept func()) {
	t.Helper()
	_, err := s.DB().ExecContext(t.Context(), fmt.Sprintf("CREATE TRIGGER reject %s ON hwt_entries WHEN %s.key = CAST('bad' AS BLOB) BEGIN %s; END", event, row, body))
	require.NoError(t, err)
	return func() {
		_, err := s.DB().ExecContext(t.Context(), "DROP TRIGGER reject")
		require.NoError(t, err)
	}
}

// keysOf collects the keys of firings.
type keysOf struct {
	mu   sync.Mutex
	keys []string // Guarded by mu.
}

func (k *keysOf) note(_ context.Context, f durable.Firing) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = append(k.keys, f.Key)
	return nil
}

func (k *keysOf) sorted() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(slices.Values(k.keys))
}

// work runs a Work until the returned function is called, or the test ends.
func (k *keysOf) work(t *testing.T, s *sqlite.Store) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Work(ctx, k.note, nil) }()
	end = sync.OnceFunc(func() {
		cancel()
		assert.NoError(t, <-done)
	})
	t.Cleanup(end)
	return end
}

// claim stores due entries, and claims them for a new worker.
func claim(t *testing.T, s *sqlite.Store, keys ...string) (worker int64, claims []backend.Claim) {
	t.Helper()
	worker, err := s.Backend().Heartbeat(t.Context(), 0, time.Minute)
	require.NoError(t, err)
	for _, key := range keys {
		e, err := s.Set(t.Context(), entryDue(key, 0))
		require.NoError(t, err)
		claims = append(claims, backend.Claim{Ref: backend.Ref{Key: key, Generation: e.Generation}})
	}
	_, err = s.Backend().Claim(t.Context(), worker, claims)
	require.NoError(t, err)
	return worker, claims
}

func sizes(t *testing.T, s *sqlite.Store) (pending, claimed int64) {
	t.Helper()
	st, err := s.Stats(t.Context())
	require.NoError(t, err)
	return st.Pending, st.Claimed
}

// The outcome of bad is stored once the file accepts it, without another firing.
func TestRejectedOutcomeLeavesTheOthers(t *testing.T) {
	for name, body := range rejections {
		t.Run(name, func(t *testing.T) {
			s := open(t, temp(t), nil)
			accept := reject(t, s, "BEFORE DELETE", "old", body)
			var k keysOf
			end := k.work(t, s)
			for _, key := range []string{"a", "bad", "c"} {
				_, err := s.Set(t.Context(), entryDue(key, 0))
				require.NoError(t, err)
			}
			onlyBad := func() bool {
				pending, claimed := sizes(t, s)
				return pending == 0 && claimed == 1 && len(k.sorted()) == 3
			}
			require.Eventually(t, onlyBad, time.Minute, 10*time.Millisecond)
			_, err := s.Set(t.Context(), entryDue("d", 0)) // later ones neither
			require.NoError(t, err)
			require.Eventually(t, func() bool { return len(k.sorted()) == 4 }, time.Minute, 10*time.Millisecond)
			st, err := s.Stats(t.Context())
			require.NoError(t, err)
			require.Contains(t, st.LastError, `key "bad"`)
			accept()
			require.Eventually(t, func() bool {
				_, claimed := sizes(t, s)
				return claimed == 0
			}, time.Minute, 10*time.Millisecond)
			end()
			require.Equal(t, []string{"a", "bad", "c", "d"}, k.sorted())
			require.NoError(t, s.Verify(t.Context()))
		})
	}
}

// Work tries a rejected outcome once more when it ends.
func TestRejectedOutcomeIsTriedOnceMoreAtTheEnd(t *testing.T) {
	s := open(t, temp(t), &sqlite.Options{Options: durable.Options{Lease: time.Minute}}) // renewed after 15 s
	accept := reject(t, s, "BEFORE DELETE", "old", rejections["abort"])
	var k keysOf
	end := k.work(t, s)
	_, err := s.Set(t.Context(), entryDue("bad", 0))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		st, err := s.Stats(t.Context())
		return err == nil && st.Errors > 0
	}, time.Minute, 10*time.Millisecond)
	accept()
	end()
	_, claimed := sizes(t, s)
	require.Zero(t, claimed)
	require.Equal(t, []string{"bad"}, k.sorted())
}

func TestRejectedClaimLeavesTheOthers(t *testing.T) {
	for name, body := range rejections {
		t.Run(name, func(t *testing.T) {
			s := open(t, temp(t), nil)
			accept := reject(t, s, "BEFORE UPDATE", "old", body)
			for _, key := range []string{"a", "bad", "c"} {
				_, err := s.Set(t.Context(), entryDue(key, 0))
				require.NoError(t, err)
			}
			var k keysOf
			k.work(t, s)
			require.Eventually(t, func() bool { return len(k.sorted()) == 2 }, time.Minute, 10*time.Millisecond)
			require.Equal(t, []string{"a", "c"}, k.sorted())
			accept()
			require.Eventually(t, func() bool { return len(k.sorted()) == 3 }, time.Minute, 10*time.Millisecond)
		})
	}
}

func TestRejectedAdoptionLeavesTheOthers(t *testing.T) {
	for name, body := range rejections {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			s := open(t, temp(t), nil)
			b := s.Backend()
			gone, _ := claim(t, s, "a", "bad", "c")
			_, err := b.Heartbeat(ctx, gone, 0)
			require.NoError(t, err)
			worker, err := b.Heartbeat(ctx, 0, time.Minute)
			require.NoError(t, err)
			accept := reject(t, s, "BEFORE UPDATE", "old", body)
			rows, err := b.Adopt(ctx, worker, nil, 10)
			require.ErrorContains(t, err, `key "bad"`)
			require.Len(t, rows, 2)
			_, err = b.Heartbeat(ctx, worker, 0)
			require.NoError(t, err)
			var k keysOf
			k.work(t, s)
			require.Eventually(t, func() bool { return slices.Equal([]string{"a", "c"}, k.sorted()) }, time.Minute, 10*time.Millisecond)
			accept()
			require.Eventually(t, func() bool { return slices.Equal([]string{"a", "bad", "c"}, k.sorted()) }, time.Minute, 10*time.Millisecond)
			require.NoError(t, s.Verify(ctx))
		})
	}
}

// A row that is overtaken leaves the worker, and this row would stay claimed until the end of the lease.
func TestRejectedSecondClaimOfARowWaits(t *testing.T) {
	for name, body := range rejections {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), open(t, temp(t), nil)
			b := s.Backend()
			worker, claims := claim(t, s, "a", "bad")
			reject(t, s, "BEFORE UPDATE", "old", body)
			for i := range claims {
				claims[i].Again = true
			}
			answers, err := b.Claim(ctx, worker, claims)
			require.ErrorContains(t, err, `key "bad"`)
			require.Equal(t, []backend.Answer{backend.Won, backend.Waits}, answers)
		})
	}
}

func TestRejectedEntryLeavesTheOthersOfItsBatch(t *testing.T) {
	for name, body := range rejections {
		t.Run(name, func(t *testing.T) {
			s := open(t, temp(t), nil)
			reject(t, s, "BEFORE INSERT", "new", body)
			n, err := s.SetMany(t.Context(), slices.Values([]durable.Entry{entryDue("a", 0), entryDue("bad", 0), entryDue("c", 0)}))
			require.ErrorContains(t, err, `SetMany "bad"`)
			require.Equal(t, 2, n)
			pending, _ := sizes(t, s)
			require.EqualValues(t, 2, pending)
			require.NoError(t, s.Verify(t.Context()))
		})
	}
}

// Outcomes beyond the memory for rejected ones stay with the worker.
func TestRejectedOutcomesAreBounded(t *testing.T) {
	ctx := t.Context()
	s := open(t, temp(t), nil)
	b := s.Backend()
	var keys []string
	for i := range 1001 {
		keys = append(keys, fmt.Sprint("k", i))
	}
	worker, claims := claim(t, s, keys...)
	var outcomes []backend.Outcome
	for _, each := range claims {
		outcomes = append(outcomes, backend.Outcome{Ref: each.Ref})
	}
	_, err := s.DB().ExecContext(ctx, "CREATE TRIGGER reject BEFORE DELETE ON hwt_entries BEGIN SELECT RAISE(ABORT, 'no'); END")
	require.NoError(t, err)
	_, err = b.Finish(ctx, worker, outcomes)
	require.ErrorContains(t, err, `key "k0"`)
	_, err = b.Finish(ctx, worker, outcomes[:1000])
	require.NoError(t, err)
	_, err = b.Finish(ctx, worker, outcomes[1000:])
	require.ErrorContains(t, err, `key "k1000"`)
}

// The note of the last run of a series is rejected. The outcomes of other entries are stored.
func TestRejectedNoteLeavesTheOthers(t *testing.T) {
	for name, body := range rejections {
		t.Run(name, func(t *testing.T) {
			s := open(t, temp(t), nil)
			_, err := s.DB().ExecContext(t.Context(), "CREATE TRIGGER reject BEFORE UPDATE OF last ON hwt_entries WHEN new.last IS NOT old.last BEGIN "+body+"; END")
			require.NoError(t, err)
			_, err = s.Set(t.Context(), durable.Entry{Key: "bad", Due: time.Now(), Every: durable.Every{Spec: "@every 1h"}})
			require.NoError(t, err)
			for _, key := range []string{"a", "c"} {
				_, err := s.Set(t.Context(), entryDue(key, 0))
				require.NoError(t, err)
			}
			var k keysOf
			k.work(t, s)
			require.Eventually(t, func() bool {
				_, err := s.Get(t.Context(), "a")
				_, claimed := sizes(t, s)
				return len(k.sorted()) == 3 && errors.Is(err, durable.ErrNotFound) && claimed <= 1
			}, time.Minute, 10*time.Millisecond)
		})
	}
}

// A unique index of the user rejects the second entry. INSERT OR REPLACE would delete the first one.
func TestUniqueIndexOfTheUserLosesNoEntry(t *testing.T) {
	s, ctx := open(t, temp(t), nil), t.Context()
	_, err := s.DB().ExecContext(ctx, "CREATE UNIQUE INDEX one ON hwt_entries (payload)")
	require.NoError(t, err)
	put := func(key, payload string) error {
		e := entryDue(key, time.Hour)
		e.Payload = []byte(payload)
		_, err := s.Set(ctx, e)
		return err
	}
	require.NoError(t, put("a", "1"))
	require.NoError(t, put("b", "2"))
	require.ErrorContains(t, put("c", "1"), "UNIQUE constraint failed")
	require.ErrorContains(t, put("b", "1"), "UNIQUE constraint failed")
	require.NoError(t, put("b", "3"))
	require.Len(t, entries(t, s), 2)
	require.NoError(t, s.Verify(ctx))
}
