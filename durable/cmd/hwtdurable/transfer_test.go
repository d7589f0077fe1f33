package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/backend/backendtest"
)

// A revived occurrence whose series was cancelled must not begin the series again.
func TestMigrationKeepsRowsBesideTheMainSlot(t *testing.T) {
	ctx := t.Context()
	source, target := backendtest.NewMemory(), backendtest.NewMemory()
	worker, err := source.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	for _, key := range []string{"ended", "ended", "running"} {
		results, err := source.Apply(ctx, nil, []backend.Op{
			{Kind: backend.Set, Row: backend.Row{Key: key, Due: 1, Every: "0 0 @every 5m", Payload: make([]byte, 1000)}}})
		require.NoError(t, err)
		ref := results[0].Row.Ref()
		_, err = source.Claim(ctx, worker, []backend.Claim{{Ref: ref}})
		require.NoError(t, err)
		_, err = source.Finish(ctx, nil, worker, []backend.Outcome{{Ref: ref, Fate: backend.Bury}})
		require.NoError(t, err)
		results, err = source.Apply(ctx, nil, []backend.Op{{Kind: backend.Requeue, Row: backend.Row{Key: key, Due: 1}, If: ref.Generation}})
		require.NoError(t, err)
		require.NoError(t, results[0].Err)
	}
	_, err = source.Apply(ctx, nil, []backend.Op{{Kind: backend.Set, Row: backend.Row{Key: "running", Due: 2}}})
	require.NoError(t, err)
	entries, _, err := transfer(ctx, source, target)
	require.NoError(t, err)
	require.Equal(t, 4, entries)
	for _, key := range []string{"ended", "running"} {
		rows, copies := source.Rows(key), target.Rows(key)
		require.Len(t, copies, len(rows))
		for i := range rows {
			copies[i].Generation, copies[i].Attempt = rows[i].Generation, max(rows[i].Attempt, 1)
			require.Equal(t, rows[i], copies[i])
		}
	}
}
