package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

func TestFullStoreStillCancels(t *testing.T) {
	s := open(t, temp(t), &sqlite.Options{MaxBytes: 1_000_000})
	ctx, due := t.Context(), time.Now().Add(time.Hour)
	var err error
	n := 0
	for ; err == nil && n < 10_000; n++ {
		_, err = s.Set(ctx, durable.Entry{Key: fmt.Sprint("k", n), Due: due, Payload: make([]byte, 1000)})
	}
	require.ErrorIs(t, err, durable.ErrFull)
	assert.Greater(t, n, 500)
	_, err = s.Move(ctx, "k0", due.Add(time.Hour))
	require.NoError(t, err)
	_, err = s.Requeue(ctx, "k0", 1)
	require.ErrorIs(t, err, durable.ErrNotFound, "only Set and Create add entries")
	cancelled, err := s.CancelMany(ctx, durable.Scope{Prefix: "k1"})
	require.NoError(t, err)
	assert.Greater(t, cancelled, 100)
	_, err = s.Set(ctx, durable.Entry{Key: "k", Due: due})
	require.NoError(t, err, "there is room again")
}

func TestBatchStopsAtMaxBytes(t *testing.T) {
	s := open(t, temp(t), &sqlite.Options{MaxBytes: 1_000_000})
	n, err := s.SetMany(t.Context(), func(yield func(durable.Entry) bool) {
		for i := range 100 {
			if !yield(durable.Entry{Key: fmt.Sprint("k", i), Due: time.Now().Add(time.Hour), Payload: make([]byte, 100_000)}) {
				return
			}
		}
	})
	require.ErrorIs(t, err, durable.ErrFull)
	assert.Less(t, n, 8) // 800 kB
}
