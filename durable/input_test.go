package durable_test

import (
	"context"
	"math"
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
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

func TestInvalidArgumentsAreNamed(t *testing.T) {
	s, err := durable.New(t.Context(), memdb.New(), nil)
	require.NoError(t, err)
	defer s.Close()
	ctx, now := t.Context(), time.Now()
	handler := func(context.Context, durable.Firing) error { return nil }
	work := func(o durable.WorkOptions) error { return s.Work(ctx, handler, &o) }
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"empty key":           {second(s.Set(ctx, durable.Entry{Key: "", Due: now})), "0 bytes (expected: 1 to 512)"},
		"long key":            {second(s.Create(ctx, durable.Entry{Key: strings.Repeat("k", 513), Due: now})), "513 bytes (expected: 1 to 512)"},
		"zero due time":       {second(s.Set(ctx, durable.Entry{Key: "k"})), "due time 0001"},
		"far due time":        {second(s.Move(ctx, "k", now.AddDate(300, 0, 0))), "to 2262"},
		"due time 0":          {second(s.Move(ctx, "k", time.Unix(0, 0))), "(expected: 1970-01-01T00:00:00.000000001Z to"},
		"large payload":       {second(s.Set(ctx, durable.Entry{Key: "k", Due: now, Payload: make([]byte, 1<<20+1)})), "payload of 1048577 bytes (expected: up to 1048576)"},
		"long group":          {second(s.Set(ctx, durable.Entry{Key: "k", Due: now, Group: strings.Repeat("g", 129)})), "129 bytes (expected: up to 128)"},
		"nameless header":     {many(s, durable.Entry{Key: "k", Due: now, Headers: map[string]string{"": "v"}}), `header "" with the value "v"`},
		"large headers":       {second(s.Create(ctx, durable.Entry{Key: "k", Due: now, Headers: map[string]string{"h": strings.Repeat("v", 8189)}})), `exceed 8192 bytes at header "h" (expected: up to 8192 in total)`},
		"early NotAfter":      {second(s.Set(ctx, durable.Entry{Key: "k", Due: now, NotAfter: now.Add(-1)})), "NotAfter"},
		"recurring NotAfter":  {many(s, durable.Entry{Key: "k", Due: now, NotAfter: now, Every: durable.Every{Spec: "@daily"}}), "NotAfter of a recurring entry"},
		"many":                {many(s, durable.Entry{Key: "k", Due: now, Every: durable.Every{Spec: "61 * * * *"}}), "61"},
		"condition elsewhere": {second(s.If(7).Create(ctx, durable.Entry{Key: "k", Due: now})), "If(7) (expected: a condition only for Set, Move, and Cancel)"},
		"no letters":          {second(s.RequeueMany(ctx, durable.Letters{})), "Letters without a condition (expected: Prefix, Group, Reason, Error, or Before, or All"},
		"all with a prefix":   {second(s.DiscardMany(ctx, durable.Letters{All: true, Prefix: "a"})), "Letters.All with a condition"},
		"no reason":           {second(s.RequeueMany(ctx, durable.Letters{Reason: 4})), "Letters.Reason 4 (expected: 0 for any, Failed, Expired, or Crashed)"},
		"negative reason":     {second(s.DiscardMany(ctx, durable.Letters{Reason: -1})), "Letters.Reason -1"},
		"all of a group":      {second(s.DiscardMany(ctx, durable.Letters{All: true, Group: "g"})), "Letters.All with a condition"},
		"slow replay":         {second(s.RequeueMany(ctx, durable.Letters{All: true, PerSecond: -1})), "PerSecond -1 (expected: 0 for no limit, or 0.001 to 1000000)"},
		"NaN replay":          {second(s.RequeueMany(ctx, durable.Letters{All: true, PerSecond: math.NaN()})), "PerSecond NaN"},
		"rate of discards":    {second(s.DiscardMany(ctx, durable.Letters{All: true, PerSecond: 1})), "PerSecond 1 (expected: 0)"},
		"KeepDead":            {second(durable.New(ctx, memdb.New(), &durable.Options{KeepDead: time.Second})), "Options.KeepDead: 1s (expected: 0 for no limit, or 1m to 87600h)"},
		"zero Entries":        {second(durable.Entries{}.Set(ctx, durable.Entry{Key: "k", Due: now})), "zero Entries"},
		"generation 0":        {second(s.If(0).Set(ctx, durable.Entry{Key: "k", Due: now})), "generation 0"},
		"no transaction":      {second(durable.NewTx(s, nil).Set(ctx, durable.Entry{Key: "k", Due: now})), "transaction nil"},
		"both recurrence":     {second(s.Set(ctx, durable.Entry{Key: "k", Due: now, Every: durable.Every{Spec: "@daily", Schedule: "n"}})), "exactly one"},
		"bad spec":            {second(s.Set(ctx, durable.Entry{Key: "k", Due: now, Every: durable.Every{Spec: "61 * * * *"}})), "61"},
		"jitter":              {second(s.Set(ctx, durable.Entry{Key: "k", Due: now, Every: durable.Every{Spec: "JITTER=5s @daily"}})), "no JITTER"},
		"bad Missed":          {second(s.Set(ctx, durable.Entry{Key: "k", Due: now, Every: durable.Every{Spec: "@daily", Missed: clock.Missed{MaxRuns: -9}}})), "-9"},
		"no first time":       {second(s.Set(ctx, durable.Entry{Key: "k", Every: durable.Every{Schedule: "n"}})), "Due is zero"},
		"no handler":          {s.Work(ctx, nil, nil), "handler nil"},
		"Concurrency":         {work(durable.WorkOptions{Concurrency: -1}), "Concurrency: -1"},
		"MaxHeld":             {work(durable.WorkOptions{MaxHeld: -1}), "MaxHeld: -1"},
		"BaseBackoff":         {work(durable.WorkOptions{BaseBackoff: -1}), "BaseBackoff: -1ns"},
		"MaxBackoff":          {work(durable.WorkOptions{MaxBackoff: 1}), "MaxBackoff: 1ns"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorIs(t, c.err, durable.ErrInvalid)
			assert.ErrorContains(t, c.err, c.says)
		})
	}
	_, err = durable.New(t.Context(), memdb.New(), &durable.Options{Lease: time.Millisecond})
	assert.ErrorContains(t, err, "Lease: 1ms (expected: 0 for the default, or 1s to 10m)")
	for range s.All(ctx, "") {
		t.Error("an invalid call stored an entry")
	}
}

func many(s *durable.Store, e durable.Entry) error {
	_, err := s.SetMany(context.Background(), slices.Values([]durable.Entry{e}))
	return err
}

func second[T any](_ T, err error) error { return err }

func TestConditionalOperations(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx, due := f.t.Context(), time.Now().Add(time.Hour)
		first := f.setIn("k", time.Hour)
		_, err := f.Create(ctx, durable.Entry{Key: "k", Due: due})
		assert.ErrorIs(t, err, durable.ErrExists)
		next, err := f.If(first.Generation).Set(ctx, durable.Entry{Key: "k", Due: due, Payload: []byte("new")})
		require.NoError(t, err)
		assert.Greater(t, next.Generation, first.Generation)
		_, err = f.If(first.Generation).Set(ctx, durable.Entry{Key: "k", Due: due})
		assert.ErrorIs(t, err, durable.ErrConflict)
		_, err = f.If(first.Generation).Move(ctx, "k", due)
		assert.ErrorIs(t, err, durable.ErrConflict)
		_, err = f.If(first.Generation).Cancel(ctx, "k")
		assert.ErrorIs(t, err, durable.ErrConflict)
		moved, err := f.If(next.Generation).Move(ctx, "k", due.Add(time.Hour))
		require.NoError(t, err)
		assert.Equal(t, []byte("new"), moved.Payload)
		_, err = f.If(moved.Generation).Cancel(ctx, "k")
		require.NoError(t, err)
		_, err = f.If(moved.Generation).Move(ctx, "k", due)
		assert.ErrorIs(t, err, durable.ErrNotFound)
	})
}

func TestManyByPrefix(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx := f.t.Context()
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
		n, err := f.CancelMany(ctx, durable.Scope{Prefix: "a/"})
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
	*memdb.DB
	bytes int
}

func (l *largest) Apply(ctx context.Context, ops []backend.Op) ([]backend.Result, error) {
	bytes := 0
	for _, op := range ops {
		bytes += len(op.Row.Payload)
	}
	l.bytes = max(l.bytes, bytes)
	return l.DB.Apply(ctx, ops)
}

// counting counts the operations of the batches.
type counting struct {
	*memdb.DB
	ops int
}

func (c *counting) Apply(ctx context.Context, ops []backend.Op) ([]backend.Result, error) {
	c.ops += len(ops)
	return c.DB.Apply(ctx, ops)
}

func TestManyWithEqualKeysStoreTheLast(t *testing.T) {
	b := &counting{DB: memdb.New()}
	s, err := durable.New(t.Context(), b, nil)
	require.NoError(t, err)
	defer s.Close()
	n, err := s.SetMany(t.Context(), func(yield func(durable.Entry) bool) {
		for i := range 100 {
			if !yield(durable.Entry{Key: strconv.Itoa(i % 2), Due: time.Now().Add(time.Hour), Payload: []byte{byte(i)}}) {
				return
			}
		}
	})
	require.NoError(t, err)
	assert.Equal(t, 100, n)
	assert.Equal(t, 2, b.ops)
	for i, key := range []string{"0", "1"} {
		e, err := s.Get(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, []byte{byte(98 + i)}, e.Payload)
	}
}

func TestManyLargePayloadsTakeBoundedMemory(t *testing.T) {
	b := &largest{DB: memdb.New()}
	s, err := durable.New(t.Context(), b, nil)
	require.NoError(t, err)
	defer s.Close()
	payload := make([]byte, 1<<20)
	n, err := s.SetMany(t.Context(), func(yield func(durable.Entry) bool) {
		for i := range 40 {
			if !yield(durable.Entry{Key: strconv.Itoa(i), Due: time.Now().Add(time.Hour), Payload: payload}) {
				return
			}
		}
	})
	require.NoError(t, err)
	require.Equal(t, 40, n)
	require.Equal(t, 16<<20, b.bytes)
}
