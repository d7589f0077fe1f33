package durable_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

// A service registers its series at each start, and may be down when an occurrence is due.
func TestEnsureKeepsAnOverdueOccurrence(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx := f.t.Context()
		hourly := durable.Entry{Key: "k", Every: durable.Every{Spec: "@every 1h"}, Payload: []byte("p")}
		first, changed, err := f.Ensure(ctx, hourly)
		require.NoError(t, err)
		assert.True(t, changed)
		time.Sleep(90 * time.Minute)
		again, changed, err := f.Ensure(ctx, hourly)
		require.NoError(t, err)
		assert.False(t, changed)
		assert.Equal(t, first, again)
		defer f.work(nil, nil)()
		time.Sleep(time.Second)
		require.Len(t, f.times(), 1, "the overdue occurrence fires")
	})
}

func TestEnsureReplacesDifferentFields(t *testing.T) {
	hourly := durable.Entry{Key: "k", Every: durable.Every{Spec: "@every 1h"}, Payload: []byte("p")}
	for name, c := range map[string]struct {
		change func(*durable.Entry)
		stays  bool // the due time
	}{
		"payload":  {func(e *durable.Entry) { e.Payload = []byte("q") }, true},
		"group":    {func(e *durable.Entry) { e.Group = "tenant" }, true},
		"headers":  {func(e *durable.Entry) { e.Headers = map[string]string{"trace": "1"} }, true},
		"missed":   {func(e *durable.Entry) { e.Every.Missed = clock.Missed{MaxRuns: 3} }, true},
		"schedule": {func(e *durable.Entry) { e.Every.Spec = "@every 1m" }, false},
		"one-shot": {func(e *durable.Entry) { e.Every, e.Due = durable.Every{}, time.Now().Add(time.Hour) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				ctx := f.t.Context()
				first, err := f.Set(ctx, hourly)
				require.NoError(t, err)
				time.Sleep(10 * time.Minute)
				changed := hourly
				c.change(&changed)
				stored, did, err := f.Ensure(ctx, changed)
				require.NoError(t, err)
				assert.True(t, did)
				assert.Greater(t, stored.Generation, first.Generation)
				assert.Equal(t, c.stays, stored.Due.Equal(first.Due))
				assert.Equal(t, changed.Payload, stored.Payload)
				assert.Equal(t, changed.Every, stored.Every)
				assert.Equal(t, changed.Group, stored.Group)
				assert.Equal(t, changed.Headers, stored.Headers)
				_, did, err = f.Ensure(ctx, changed)
				require.NoError(t, err)
				assert.False(t, did, "the second time")
			})
		})
	}
}

// Replicas start at the same time.
func TestConcurrentEnsureStoresOneSeries(t *testing.T) {
	inBubble(t, func(f *fixture) {
		stored := make(chan durable.Entry, 10)
		for range cap(stored) {
			go func() {
				e, _, err := f.Ensure(f.t.Context(), durable.Entry{Key: "k", Every: durable.Every{Spec: "@every 1h"}})
				assert.NoError(t, err)
				stored <- e
			}()
		}
		first := <-stored
		for range cap(stored) - 1 {
			assert.Equal(t, first, <-stored)
		}
	})
}

// Every verb works in a transaction, follows its fate, and is announced by its commit.
func TestTransactionHasEveryVerb(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(nil, nil)()
		ctx := f.t.Context()
		soon := time.Now().Add(100 * time.Millisecond)
		for _, key := range []string{"a/1", "a/2", "moved", "cancelled"} {
			f.setIn(key, time.Hour)
		}
		for _, commit := range []bool{false, true} {
			db, err := f.b.Begin(ctx)
			require.NoError(t, err)
			tx := durable.NewTx(f.Store, db)
			moved, err := tx.Get(ctx, "moved")
			require.NoError(t, err)
			_, err = tx.If(moved.Generation).Move(ctx, "moved", soon)
			require.NoError(t, err)
			_, err = tx.If(moved.Generation).Cancel(ctx, "moved")
			require.ErrorIs(t, err, durable.ErrConflict)
			_, err = tx.Cancel(ctx, "cancelled")
			require.NoError(t, err)
			n, err := tx.CancelMany(ctx, durable.Scope{Prefix: "a/"})
			require.NoError(t, err)
			require.Equal(t, 2, n)
			n, err = tx.SetMany(ctx, slices.Values([]durable.Entry{{Key: "many", Due: soon}, {Key: "many", Due: soon}}))
			require.NoError(t, err)
			require.Equal(t, 2, n)
			_, changed, err := tx.Ensure(ctx, durable.Entry{Key: "series", Due: soon, Every: durable.Every{Spec: "@every 1h"}})
			require.NoError(t, err)
			require.True(t, changed)
			require.Equal(t, []string{"a/1", "a/2", "cancelled", "moved"}, f.keys(), "outside of the transaction")
			if !commit {
				require.NoError(t, db.Rollback())
				continue
			}
			require.NoError(t, db.Commit())
		}
		require.Equal(t, []string{"many", "moved", "series"}, f.keys())
		time.Sleep(200 * time.Millisecond)
		require.Len(t, f.times(), 3)
		require.Equal(t, []string{"series"}, f.keys())
		n, err := f.CancelMany(ctx, durable.Scope{All: true})
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})
}

// A worker of the store waits for the transaction, as on SQLite.
func TestTransactionInMemoryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memdb.New()
		s, err := durable.New(t.Context(), db, nil)
		require.NoError(t, err)
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := db.Begin(ctx)
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() {
			_, err := s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now()})
			done <- err
		}()
		synctest.Wait()
		require.Empty(t, done)
		cancel()
		require.NoError(t, <-done)
		require.ErrorIs(t, tx.Commit(), context.Canceled)
		require.ErrorIs(t, tx.Rollback(), context.Canceled)
	})
}

func TestDueTimesReachFrom1970To2262(t *testing.T) {
	first, last := time.Unix(0, 1).UTC(), time.Unix(0, math.MaxInt64).UTC()
	inBubble(t, func(f *fixture) {
		ctx := f.t.Context()
		for _, due := range []time.Time{first, last} {
			e, err := f.Set(ctx, durable.Entry{Key: due.String(), Due: due, NotAfter: last})
			require.NoError(t, err)
			assert.Equal(t, due, e.Due)
			assert.Equal(t, last, e.NotAfter)
			for _, invalid := range []time.Time{first.Add(-1), last.Add(1)} {
				_, err := f.Set(ctx, durable.Entry{Key: "invalid", Due: due, NotAfter: invalid})
				assert.ErrorIs(t, err, durable.ErrInvalid)
				_, err = f.Move(ctx, due.String(), invalid)
				assert.ErrorIs(t, err, durable.ErrInvalid)
			}
		}
		defer f.work(nil, nil)()
		time.Sleep(time.Minute)
		require.Len(t, f.times(), 1)
		assert.Equal(t, first, f.fired[0].Due)
		assert.GreaterOrEqual(t, f.fired[0].Lateness, f.start.Sub(first))
		assert.Equal(t, []string{last.String()}, f.keys())
	})
}
