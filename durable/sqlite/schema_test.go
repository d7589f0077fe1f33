package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

func TestStoreOfVersion1IsMigrated(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "timers.db")
	all := migrations
	defer func() { migrations = all }()
	migrations = all[:1]
	s, err := Open(ctx, path, nil)
	require.NoError(t, err)
	due := time.Now()
	_, err = s.Set(ctx, durable.Entry{Key: "pending", Due: due, Payload: []byte("payload")})
	require.NoError(t, err)
	e, err := s.Set(ctx, durable.Entry{Key: "claimed", Due: due})
	require.NoError(t, err)
	gone, err := s.backend.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	won, err := s.backend.Claim(ctx, gone, []backend.Claim{{Ref: backend.Ref{Key: e.Key, Generation: e.Generation}}})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, won)
	_, err = s.backend.Heartbeat(ctx, gone, 0)
	require.NoError(t, err)
	require.NoError(t, s.Close())

	migrations = all
	s, err = Open(ctx, path, nil)
	require.NoError(t, err)
	require.NoError(t, s.Verify(ctx))
	heir, err := s.backend.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	rows, err := s.backend.Adopt(ctx, heir, 10)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, "claimed", rows[0].Key)
	rows, err = s.backend.Lease(ctx, backend.LeaseRequest{Worker: heir, Until: due.UnixNano(), Max: 10})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, "pending", rows[0].Key)
	indexes, err := s.backend.writer.query("SELECT count(*) FROM sqlite_schema WHERE name IN ('hwt_due', 'hwt_holder')").integer()
	require.NoError(t, err)
	require.EqualValues(t, 1, indexes)
	require.NoError(t, s.Close())

	migrations = all[:1] // an older release
	_, err = Open(ctx, path, nil)
	require.ErrorContains(t, err, "schema version 3 (expected: up to 1); use a newer release")
}
