package durable_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

func TestCloseEndsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := durable.New(t.Context(), memdb.New(), nil)
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() {
			done <- s.Work(t.Context(), func(context.Context, durable.Firing) error { return nil }, nil)
		}()
		time.Sleep(time.Second)
		require.NoError(t, s.Close())
		assert.ErrorIs(t, <-done, durable.ErrClosed)
		_, err = s.Get(t.Context(), "k")
		assert.ErrorIs(t, err, durable.ErrClosed)
		assert.ErrorIs(t, s.Work(t.Context(), func(context.Context, durable.Firing) error { return nil }, nil), durable.ErrClosed)
	})
}

// SQLite closes the store after an error of the disk.
func TestWorkEndsWhenTheDatabaseHasClosed(t *testing.T) {
	inBubble(t, func(f *fixture) {
		time.AfterFunc(time.Second, func() { f.b.setAll(fmt.Errorf("%w after an error of the disk", durable.ErrClosed)) })
		ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
		defer cancel()
		f.setIn("running", 900*time.Millisecond)
		err := f.Work(ctx, func(ctx context.Context, _ durable.Firing) error {
			<-ctx.Done() // with the lease, before DrainTimeout
			return nil
		}, nil)
		assert.ErrorIs(t, err, durable.ErrClosed)
		assert.Less(t, time.Since(f.start), 10*time.Second)
	})
}

func TestCloseInsideHandlerDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memdb.New()
		s, err := durable.New(t.Context(), b, nil)
		require.NoError(t, err)
		_, err = s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Second)})
		require.NoError(t, err)
		var took time.Duration
		err = s.Work(t.Context(), func(context.Context, durable.Firing) error {
			begun := time.Now()
			assert.NoError(t, s.Close())
			took = time.Since(begun)
			time.Sleep(time.Second)
			return nil
		}, nil)
		require.ErrorIs(t, err, durable.ErrClosed)
		require.Zero(t, took)
		require.Empty(t, b.Rows("k"), "rows after the acknowledgement")
		require.NoError(t, s.Close())
		_, err = b.Get(t.Context(), "k")
		require.ErrorIs(t, err, durable.ErrClosed, "the database after the second Close")
	})
}

// A handler of the other store runs.
func TestCloseInHandlerWaitsForOtherStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, err := durable.New(t.Context(), memdb.New(), nil)
		require.NoError(t, err)
		s, err := durable.New(t.Context(), memdb.New(), nil)
		require.NoError(t, err)
		for _, store := range []*durable.Store{slow, s} {
			_, err = store.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now()})
			require.NoError(t, err)
		}
		ended := make(chan error, 1)
		go func() {
			ended <- slow.Work(t.Context(), func(context.Context, durable.Firing) error {
				time.Sleep(time.Minute)
				return nil
			}, nil)
		}()
		err = s.Work(t.Context(), func(context.Context, durable.Firing) error {
			time.Sleep(time.Second)
			begun := time.Now()
			assert.NoError(t, slow.Close())
			assert.Greater(t, time.Since(begun), 50*time.Second)
			return s.Close()
		}, nil)
		require.ErrorIs(t, err, durable.ErrClosed)
		require.ErrorIs(t, <-ended, durable.ErrClosed)
		require.NoError(t, s.Close())
	})
}

func TestCloseOfAnotherStoreInsideHandlerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := durable.New(t.Context(), memdb.New(), nil)
		require.NoError(t, err)
		_, err = s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now()})
		require.NoError(t, err)
		err = s.Work(t.Context(), func(context.Context, durable.Firing) error {
			b := memdb.New()
			other, err := durable.New(t.Context(), b, nil)
			assert.NoError(t, err)
			assert.NoError(t, other.Close())
			_, err = b.Get(t.Context(), "k")
			assert.ErrorIs(t, err, durable.ErrClosed, "the other database")
			return s.Close()
		}, nil)
		require.ErrorIs(t, err, durable.ErrClosed)
		require.NoError(t, s.Close())
	})
}
