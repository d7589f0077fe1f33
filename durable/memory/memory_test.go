package memory_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/memory"
)

// As on SQLite: the writer that waits has the transaction open itself.
func TestWriteBesideAnOpenTransactionSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s, err := memory.Open(t.Context(), &durable.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		tx, err := s.Begin(t.Context())
		require.NoError(t, err)
		for name, call := range map[string]func(ctx context.Context) error{
			"Set": func(ctx context.Context) error {
				_, err := s.Set(ctx, durable.Entry{Key: "k", Due: time.Now()})
				return err
			},
			"Cancel": func(ctx context.Context) error { _, err := s.Cancel(ctx, "k"); return err },
			"Begin":  func(ctx context.Context) error { _, err := s.Begin(ctx); return err },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			err := call(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.ErrorContains(t, err, "a transaction of Store.Begin is open", name)
		}
		synctest.Wait() // for the log
		st, err := s.Stats(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(log.String(), "writes wait for a transaction"), log.String())
		require.Equal(t, "a transaction of Store.Begin is open", st.LastError)
		require.EqualValues(t, 3, st.Errors)
		require.NoError(t, tx.Commit())
		require.NoError(t, s.Close())
	})
}

func TestTransactionOfAnotherStoreIsRejected(t *testing.T) {
	ctx := t.Context()
	s, err := memory.Open(ctx, nil)
	require.NoError(t, err)
	defer s.Close()
	other, err := memory.Open(ctx, nil)
	require.NoError(t, err)
	defer other.Close()
	tx, err := other.Begin(ctx)
	require.NoError(t, err)
	for name, tx := range map[string]*memory.Tx{"nil": nil, "another store": tx} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Tx(tx).Set(ctx, durable.Entry{Key: "k", Due: time.Now()})
			require.ErrorIs(t, err, durable.ErrInvalid)
		})
	}
	require.NoError(t, tx.Rollback())
	require.ErrorIs(t, tx.Commit(), memory.ErrTxDone)
	_, err = memory.Open(ctx, &durable.Options{Lease: 1})
	require.ErrorIs(t, err, durable.ErrInvalid)
}
