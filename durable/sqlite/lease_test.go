package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// hasIndexOfKinds reports whether the store has the index of kinds.
func hasIndexOfKinds(t *testing.T, s *Store) bool {
	t.Helper()
	var n int64
	require.NoError(t, s.backend.read(t.Context(), func(c *conn) (err error) {
		n, err = c.query("SELECT count(*) FROM sqlite_schema WHERE name = 'hwt_kind'").integer()
		return err
	}))
	return n > 0
}

func TestStoreGetsTheIndexOfKindsByItsSize(t *testing.T) {
	ctx, s := t.Context(), openTemp(t)
	worker, err := s.backend.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	apart := func() bool {
		lanes, err := s.backend.Lease(ctx, backend.LeaseRequest{Worker: worker, Lanes: []backend.Lane{{Kinds: []string{"a/", "b/"}, Max: 1}}})
		require.NoError(t, err)
		return lanes[0].Apart
	}
	grow := func(rows int64) {
		require.NoError(t, s.backend.do(ctx, 1, func(t *txn) error {
			t.s.pending += rows
			return nil
		}))
	}
	grow(manyRows - 1)
	require.False(t, apart())
	grow(1)
	require.True(t, apart())
	require.False(t, hasIndexOfKinds(t, s))
	require.NoError(t, s.backend.PrepareKinds(ctx))
	require.True(t, hasIndexOfKinds(t, s))
}

// Each of the passed rows has a page of hwt_payloads.
func TestLaneOfKindsReadsNoOtherPayload(t *testing.T) {
	ctx, s := t.Context(), openTemp(t)
	const others = 2000
	due := time.Now()
	_, err := s.SetMany(ctx, func(yield func(durable.Entry) bool) {
		for i := range others {
			if !yield(durable.Entry{Key: fmt.Sprint("other/", i), Due: due, Payload: make([]byte, 5000)}) {
				return
			}
		}
	})
	require.NoError(t, err)
	_, err = s.Set(ctx, durable.Entry{Key: "a/1", Due: due.Add(time.Second)})
	require.NoError(t, err)
	worker, err := s.backend.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	before := pagesRead(t, s)
	lanes, err := s.backend.Lease(ctx, backend.LeaseRequest{Worker: worker, Until: due.Add(time.Hour).UnixNano(),
		Lanes: []backend.Lane{{Kinds: []string{"a/", "b/"}, Max: 10}}})
	require.NoError(t, err)
	require.Len(t, lanes[0].Rows, 1)
	require.Less(t, pagesRead(t, s)-before, int64(others/4), "pages")
}
