package main

import (
	"context"
	"fmt"
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

// counter counts the claims, each of which is a transaction.
type counter struct {
	*backendtest.Memory
	claims int
}

func (c *counter) Claim(ctx context.Context, worker int64, claims []backend.Claim) ([]bool, error) {
	c.claims++
	return c.Memory.Claim(ctx, worker, claims)
}

// A store may have very many dead letters, and several of one key.
func TestMigrationCopiesPagesOfDeadLetters(t *testing.T) {
	ctx := t.Context()
	source, middle, target := backendtest.NewMemory(), &counter{Memory: backendtest.NewMemory()}, backendtest.NewMemory()
	worker, err := source.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	const keys = 3 * copyPage
	for i := range keys + 5 {
		results, err := source.Apply(ctx, nil, []backend.Op{{Kind: backend.Set,
			Row: backend.Row{Key: fmt.Sprintf("%06d", i%keys), Due: 1, Payload: []byte{byte(i)}}}})
		require.NoError(t, err)
		ref := results[0].Row.Ref()
		_, err = source.Claim(ctx, worker, []backend.Claim{{Ref: ref}})
		require.NoError(t, err)
		_, err = source.Finish(ctx, nil, worker, []backend.Outcome{{Ref: ref, Fate: backend.Bury, Error: fmt.Sprint(i)}})
		require.NoError(t, err)
	}
	contents := func(b backend.Backend) (all []string) {
		page, err := b.DeadPage(ctx, "", backend.Ref{}, 2*keys)
		require.NoError(t, err)
		for _, d := range page {
			all = append(all, fmt.Sprint(d.Key, d.Payload, d.Origin, d.Nonce, d.Error))
		}
		return all
	}
	want := contents(source)
	require.Len(t, want, keys+5)
	for _, b := range []backend.Backend{middle, target} {
		_, letters, err := transfer(ctx, source, b)
		require.NoError(t, err)
		require.Equal(t, keys+5, letters)
		require.Equal(t, want, contents(b))
	}
	require.LessOrEqual(t, middle.claims, 10)
}
