package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/memory"
)

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
