package durable_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/backend/backendtest"
)

func TestInvalidArgumentsAreNamed(t *testing.T) {
	s, err := durable.New(t.Context(), backendtest.NewMemory(), nil)
	require.NoError(t, err)
	defer s.Close()
	ctx, now := t.Context(), time.Now()
	handler := func(context.Context, durable.Firing) error { return nil }
	work := func(o durable.WorkOptions) error { return s.Work(ctx, handler, &o) }
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"empty key":          {second(s.Set(ctx, "", now, nil)), "0 bytes (expected: 1 to 512)"},
		"long key":           {second(s.Create(ctx, strings.Repeat("k", 513), now, nil)), "513 bytes (expected: 1 to 512)"},
		"zero due time":      {second(s.Set(ctx, "k", time.Time{}, nil)), "due time 0001"},
		"far due time":       {second(s.Move(ctx, "k", now.AddDate(300, 0, 0))), "to 2262"},
		"due time 0":         {second(s.Move(ctx, "k", time.Unix(0, 0))), "(expected: 1970-01-01T00:00:00.000000001Z to"},
		"large payload":      {second(s.Set(ctx, "k", now, make([]byte, 1<<20+1))), "payload of 1048577 bytes (expected: up to 1048576)"},
		"early NotAfter":     {second(s.Set(ctx, "k", now, nil, durable.NotAfter(now.Add(-1)))), "NotAfter"},
		"recurring NotAfter": {many(s, durable.Entry{Key: "k", Due: now, NotAfter: now, Every: durable.Every{Spec: "@daily"}}), "NotAfter of a recurring entry"},
		"many":               {many(s, durable.Entry{Key: "k", Due: now, Every: durable.Every{Spec: "61 * * * *"}}), "61"},
		"own option":         {second(s.Set(ctx, "k", now, nil, func(e *durable.Entry) { e.Every.Spec = "nonsense" })), "nonsense"},
		"generation 0":       {second(s.SetIf(ctx, "k", 0, now, nil)), "generation 0"},
		"no transaction":     {second(s.SetTx(ctx, nil, "k", now, nil)), "transaction nil"},
		"no recurrence":      {second(s.SetEvery(ctx, "k", durable.Every{}, now, nil)), "Every is zero"},
		"both recurrence":    {second(s.SetEvery(ctx, "k", durable.Every{Spec: "@daily", Schedule: "n"}, now, nil)), "exactly one"},
		"bad spec":           {second(s.SetEvery(ctx, "k", durable.Every{Spec: "61 * * * *"}, now, nil)), "61"},
		"jitter":             {second(s.SetEvery(ctx, "k", durable.Every{Spec: "JITTER=5s @daily"}, now, nil)), "no JITTER"},
		"bad Missed":         {second(s.SetEvery(ctx, "k", durable.Every{Spec: "@daily", Missed: clock.Missed{MaxRuns: -9}}, now, nil)), "-9"},
		"no first time":      {second(s.SetEvery(ctx, "k", durable.Every{Schedule: "n"}, time.Time{}, nil)), "first is zero"},
		"no handler":         {s.Work(ctx, nil, nil), "handler nil"},
		"Concurrency":        {work(durable.WorkOptions{Concurrency: -1}), "Concurrency: -1"},
		"MaxHeld":            {work(durable.WorkOptions{MaxHeld: -1}), "MaxHeld: -1"},
		"BaseBackoff":        {work(durable.WorkOptions{BaseBackoff: -1}), "BaseBackoff: -1ns"},
		"MaxBackoff":         {work(durable.WorkOptions{MaxBackoff: 1}), "MaxBackoff: 1ns"},
	} {
		assert.ErrorIs(t, c.err, durable.ErrInvalid, name)
		assert.ErrorContains(t, c.err, c.says, name)
	}
	_, err = durable.New(t.Context(), backendtest.NewMemory(), &durable.Options{Lease: time.Millisecond})
	assert.ErrorContains(t, err, "Lease: 1ms (expected: 0 for the default, or 1s to 10m)")
	for range s.All(ctx, "") {
		t.Error("an invalid call stored an entry")
	}
}

func many(s *durable.Store, e durable.Entry) error {
	_, err := s.SetMany(context.Background(), slices.Values([]durable.Entry{e}))
	return err
}

func second(_ durable.Entry, err error) error { return err }

func TestConditionalOperations(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx, due := t.Context(), time.Now().Add(time.Hour)
		first := f.setIn("k", time.Hour)
		_, err := f.Create(ctx, "k", due, nil)
		assert.ErrorIs(t, err, durable.ErrExists)
		next, err := f.SetIf(ctx, "k", first.Generation, due, []byte("new"))
		require.NoError(t, err)
		assert.Greater(t, next.Generation, first.Generation)
		_, err = f.SetIf(ctx, "k", first.Generation, due, nil)
		assert.ErrorIs(t, err, durable.ErrConflict)
		_, err = f.MoveIf(ctx, "k", first.Generation, due)
		assert.ErrorIs(t, err, durable.ErrConflict)
		_, err = f.CancelIf(ctx, "k", first.Generation)
		assert.ErrorIs(t, err, durable.ErrConflict)
		moved, err := f.MoveIf(ctx, "k", next.Generation, due.Add(time.Hour))
		require.NoError(t, err)
		assert.Equal(t, []byte("new"), moved.Payload)
		_, err = f.CancelIf(ctx, "k", moved.Generation)
		require.NoError(t, err)
		_, err = f.MoveIf(ctx, "k", moved.Generation, due)
		assert.ErrorIs(t, err, durable.ErrNotFound)
	})
}

func TestManyByPrefix(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx := t.Context()
		stored, err := f.SetMany(ctx, func(yield func(durable.Entry) bool) {
			for i := range 1200 {
				key := []string{"a/", "b/"}[i%2] + time.Duration(i).String()
				if !yield(durable.Entry{Key: key, Due: time.Now().Add(time.Hour)}) {
					return
				}
			}
		})
		require.NoError(t, err)
		require.Equal(t, 1200, stored)
		n, err := f.CancelMany(ctx, "a/")
		require.NoError(t, err)
		assert.Equal(t, 600, n)
		keys := f.keys()
		assert.Len(t, keys, 600)
		assert.True(t, strings.HasPrefix(keys[0], "b/"))
		stored, err = f.SetMany(ctx, func(yield func(durable.Entry) bool) {
			_ = yield(durable.Entry{Key: "good", Due: time.Now().Add(time.Hour)}) &&
				yield(durable.Entry{Key: "", Due: time.Now()}) && yield(durable.Entry{Key: "unreached", Due: time.Now()})
		})
		assert.Equal(t, 1, stored)
		assert.ErrorIs(t, err, durable.ErrInvalid)
		assert.Len(t, f.keys(), 601)
	})
}

// largest notes the size of the largest batch of operations.
type largest struct {
	*backendtest.Memory
	bytes int
}

func (l *largest) Apply(ctx context.Context, tx any, ops []backend.Op) ([]backend.Result, error) {
	bytes := 0
	for _, op := range ops {
		bytes += len(op.Row.Payload)
	}
	l.bytes = max(l.bytes, bytes)
	return l.Memory.Apply(ctx, tx, ops)
}

func TestManyLargePayloadsTakeBoundedMemory(t *testing.T) {
	b := &largest{Memory: backendtest.NewMemory()}
	s, err := durable.New(t.Context(), b, nil)
	require.NoError(t, err)
	defer s.Close()
	payload := make([]byte, 1<<20)
	n, err := s.SetMany(t.Context(), func(yield func(durable.Entry) bool) {
		for i := range 40 {
			if !yield(durable.Entry{Key: strconv.Itoa(i % 2), Due: time.Now().Add(time.Hour), Payload: payload}) {
				return
			}
		}
	})
	require.NoError(t, err)
	require.Equal(t, 40, n)
	require.Equal(t, 16<<20, b.bytes)
}
